"""The yardstick: every score computed by NumPy, ties to the lower id."""

from __future__ import annotations

import io

import numpy as np

from embedding.types import Vectors
from index.types import Ids


class ExactStore:
    """Vectors in one array, ids ascending."""

    def __init__(self, dim: int) -> None:
        self._ids: Ids = np.empty(0, np.int64)
        self._vectors: Vectors = np.empty((0, dim), np.float32)

    def add(self, ids: Ids, vectors: Vectors) -> None:
        order = np.argsort(np.concatenate([self._ids, ids]), kind="stable")
        self._ids = np.concatenate([self._ids, ids])[order]
        self._vectors = np.concatenate([self._vectors, vectors])[order]

    def remove(self, ids: Ids) -> None:
        kept = ~np.isin(self._ids, ids)
        self._ids, self._vectors = self._ids[kept], self._vectors[kept]

    def search(self, queries: Vectors, k: int, allowed: Ids | None = None) -> tuple[Vectors, Ids]:
        width = min(k, len(self))
        kept = np.ones(len(self), bool) if allowed is None else np.isin(self._ids, allowed)
        ids, scores = self._ids[kept], queries @ self._vectors[kept].T
        best = np.argsort(-scores, axis=1, kind="stable")[:, :width]
        found = best.shape[1]
        out = np.full((len(queries), width), -np.inf, np.float32), np.full((len(queries), width), -1, np.int64)
        out[0][:, :found], out[1][:, :found] = np.take_along_axis(scores, best, 1), ids[best]
        return out

    def ids(self) -> Ids:
        return self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def dump(self) -> bytes:
        buffer = io.BytesIO()
        np.savez(buffer, ids=self._ids, vectors=self._vectors)
        return buffer.getvalue()

    def load(self, data: bytes | memoryview) -> None:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            ids, vectors = arrays["ids"], arrays["vectors"]
        if vectors.shape != (len(ids), self._vectors.shape[1]):
            raise ValueError(f"vectors of shape {vectors.shape} for {len(ids)} ids")
        self._ids, self._vectors = ids, vectors
