"""A text tower of one fixed size beside one that takes any: short texts go to the first, the rest to the second."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from embedding.runtime import Arrays, Session, Shape, TowerPlan


class Routable(Protocol):
    """A compiled graph, or several that act as one."""

    inputs: dict[str, Shape]

    def run(self, feeds: Arrays) -> dict[str, NDArray[Any]]: ...

    def plan(self) -> TowerPlan: ...

    def close(self) -> None: ...


class RoutedSession:
    """Behaves as the session `anything`, and lets `fixed` (one text of so many tokens) answer what fits into it."""

    def __init__(self, fixed: Session, anything: Routable, tokens: int) -> None:
        self._fixed = fixed
        self._anything = anything
        self._tokens = tokens
        self.inputs = anything.inputs

    def run(self, feeds: Arrays) -> dict[str, NDArray[Any]]:
        """Row by row on the fixed graph when all texts fit and no media are among them."""
        ids = feeds["input_ids"]
        if ids.shape[1] > self._tokens or any(len(feeds[name]) for name in feeds if name.endswith("_features")):
            return self._anything.run(feeds)
        missing = ((0, 0), (0, self._tokens - ids.shape[1]))
        padded = {name: np.pad(feeds[name], missing) for name in ("input_ids", "attention_mask")}
        rest = {name: value for name, value in feeds.items() if name not in padded}
        rows = [
            self._fixed.run({**rest, **{name: value[row : row + 1] for name, value in padded.items()}})
            for row in range(len(ids))
        ]
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}

    def plan(self) -> TowerPlan:
        """What the fixed graph says of itself."""
        return self._fixed.plan()

    def close(self) -> None:
        """Release both graphs."""
        self._fixed.close()
        self._anything.close()
