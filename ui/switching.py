"""Change of the embedder while others search: the old one is closed when nobody is inside any more."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turnstile:
    """Counts who is inside a call, so that an engine is closed only after everyone who may still hold it has left."""

    def __init__(self) -> None:
        self._tickets = itertools.count()
        self._inside: set[int] = set()
        self._changed = threading.Condition()

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Be inside for the length of the block."""
        with self._changed:
            ticket = next(self._tickets)
            self._inside.add(ticket)
        try:
            yield
        finally:
            with self._changed:
                self._inside.discard(ticket)
                self._changed.notify_all()

    def wait_for_present(self, timeout: float) -> bool:
        """Wait until all who are inside now have left; False when that took longer than `timeout` seconds."""
        with self._changed:
            limit = next(self._tickets)
            return self._changed.wait_for(lambda: all(ticket > limit for ticket in self._inside), timeout)
