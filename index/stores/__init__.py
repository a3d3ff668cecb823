"""Vector stores: one file per engine behind one small Protocol. A store is derived from the catalogue."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from embedding.errors import LibraryError
from embedding.types import Vectors
from index.types import Ids

STORES = {
    "exact": "index.stores.exact:ExactStore",
    "faiss": "index.stores.faiss:FaissStore",
}


class Store(Protocol):
    """Unit vectors under ids that the caller gives. Not safe from several threads: the owner holds the lock."""

    def __init__(self, dim: int) -> None:
        """An empty store of vectors of length `dim`."""

    def add(self, ids: Ids, vectors: Vectors) -> None:
        """Add vectors float32 [n, dim] under new ids int64 [n]."""

    def remove(self, ids: Ids) -> None:
        """Take ids out; unknown ones are ignored."""

    def search(self, queries: Vectors, k: int, allowed: Ids | None = None) -> tuple[Vectors, Ids]:
        """The k best of all or of the allowed ids: scores float32 and ids int64 [queries, min(k, len)].

        Score is the inner product, best first. Rows with fewer answers end in -inf and -1.
        """

    def ids(self) -> Ids:
        """All ids, ascending."""

    def __len__(self) -> int:
        """Number of vectors."""

    def dump(self) -> bytes | memoryview:
        """Everything `load` needs."""

    def load(self, data: bytes | memoryview) -> None:
        """Take over what `dump` gave. Raises ValueError when it does not fit."""


def open_store(name: str, dim: int) -> Store:
    """An empty store of the engine `name`; LibraryError lists the names there are."""
    if name not in STORES:
        raise LibraryError(f"There is no vector store {name!r}; choose one of {', '.join(sorted(STORES))}.")
    module, attribute = STORES[name].split(":")
    return cast(Store, getattr(import_module(module), attribute)(dim))
