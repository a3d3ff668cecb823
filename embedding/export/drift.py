"""How far a package's vectors are from those of the unquantised graphs, on the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from embedding.towers import Tower
from embedding.types import Media, Role, Timings, Vectors

THRESHOLD = 0.995


@dataclass(frozen=True)
class Drift:
    """Cosine of one kind of input with the unquantised graph's vectors: how many, lowest, mean."""

    inputs: int
    cosine_min: float
    cosine_mean: float


@dataclass(frozen=True)
class DriftReport:
    """Drift by kind of input; share of texts whose nearest picture (or nearest other text) stays the same."""

    kinds: Mapping[str, Drift]
    top1_agreement: float
    threshold: float = THRESHOLD

    @property
    def passed(self) -> bool:
        """True when no vector is below the threshold."""
        return all(drift.cosine_min >= self.threshold for drift in self.kinds.values())

    def as_json(self) -> dict[str, Any]:
        """The report as it lies in the package."""
        kinds = {name: asdict(drift) for name, drift in self.kinds.items()}
        return {
            "threshold": self.threshold,
            "passed": self.passed,
            "top1_agreement": self.top1_agreement,
            "kinds": kinds,
        }

    def __str__(self) -> str:
        rows = [f"{name} min {row.cosine_min:.5f} mean {row.cosine_mean:.5f}" for name, row in self.kinds.items()]
        return f"{'; '.join(rows)}; top-1 agreement {self.top1_agreement:.2f}"


def vectors(tower: Tower, inputs: Mapping[str, Sequence[Media]]) -> dict[str, Vectors]:
    """Unit vectors float32 [n, dim] by kind of input; texts are asked as queries, the rest are documents."""
    found = {}
    for kind, items in inputs.items():
        role = Role.QUERY if kind == "text" else Role.DOCUMENT
        rows = [tower.pool([tower.prepare(item, role, Timings())])[0] for item in items]
        table = np.stack(rows).astype(np.float64)
        found[kind] = (table / np.linalg.norm(table, axis=1, keepdims=True)).astype(np.float32)
    return found


def measure(
    plain: Callable[[], Tower], stored: Callable[[], Tower], inputs: Mapping[str, Sequence[Media]]
) -> DriftReport:
    """Both towers over the inputs, one after the other, so that only one is in memory."""
    wanted = vectors(plain(), inputs)
    return compare(wanted, vectors(stored(), inputs))


def compare(wanted: Mapping[str, Vectors], found: Mapping[str, Vectors]) -> DriftReport:
    """The report of two sets of unit vectors."""
    kinds = {}
    for kind, rows in wanted.items():
        cosines = np.sum(rows.astype(np.float64) * found[kind].astype(np.float64), axis=1)
        kinds[kind] = Drift(len(rows), float(cosines.min()), float(cosines.mean()))
    return DriftReport(kinds, float(np.mean(_nearest(wanted) == _nearest(found))))


def _nearest(rows: Mapping[str, Vectors]) -> np.ndarray:
    """For every text the number of its nearest picture, or of its nearest other text when there are no pictures."""
    texts, pictures = rows["text"], rows.get("image")
    table = texts @ (texts if pictures is None else pictures).T
    if pictures is None:
        np.fill_diagonal(table, -np.inf)
    return np.asarray(table.argmax(axis=1))
