"""FAISS: exact inner product over vectors with stable ids. The only owner of faiss."""

from __future__ import annotations

from typing import Any

import faiss as untyped_faiss
import numpy as np

from embedding.types import Vectors
from index.types import Ids

faiss: Any = untyped_faiss  # its stubs describe the C++ signatures, not the Python ones
# One query never uses more than one thread, and threads that wait for the next one take the cores from the model.
faiss.omp_set_num_threads(1)


class FaissStore:
    """`IndexIDMap2` over `IndexFlatIP`; filters are id selectors, so k answers of the wanted kind are found."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._index: Any = faiss.IndexIDMap2(faiss.IndexFlatIP(dim))

    def add(self, ids: Ids, vectors: Vectors) -> None:
        if len(ids):
            self._index.add_with_ids(np.ascontiguousarray(vectors, np.float32), np.ascontiguousarray(ids, np.int64))

    def remove(self, ids: Ids) -> None:
        if len(ids):
            self._index.remove_ids(np.ascontiguousarray(ids, np.int64))

    def search(self, queries: Vectors, k: int, allowed: Ids | None = None) -> tuple[Vectors, Ids]:
        width = min(k, len(self))
        if not width or not len(queries) or (allowed is not None and not len(allowed)):
            return np.full((len(queries), width), -np.inf, np.float32), np.full((len(queries), width), -1, np.int64)
        queries = np.ascontiguousarray(queries, np.float32)
        if allowed is None:
            scores, ids = self._index.search(queries, width)
        else:
            bits = np.zeros(int(allowed.max()) + 1, bool)
            bits[allowed] = True
            mask = np.packbits(bits, bitorder="little")
            selector = faiss.IDSelectorBitmap(mask)  # holds a pointer: `mask` has to outlive the search
            scores, ids = self._index.search(queries, width, params=faiss.SearchParameters(sel=selector))
            del mask
        scores[ids < 0] = -np.inf
        return scores, ids

    def ids(self) -> Ids:
        return np.sort(faiss.vector_to_array(self._index.id_map).astype(np.int64))

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def dump(self) -> bytes | memoryview:
        return memoryview(faiss.serialize_index(self._index))

    def load(self, data: bytes | memoryview) -> None:
        try:
            index = faiss.deserialize_index(np.frombuffer(data, np.uint8))
        except RuntimeError as error:
            raise ValueError(str(error)) from error
        if not isinstance(index, faiss.IndexIDMap2) or index.d != self._dim:
            raise ValueError(f"holds {type(index).__name__} of {index.d} numbers")
        self._index = index
