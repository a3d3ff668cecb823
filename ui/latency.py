"""How long searches took: last, median and 95th percentile by stage, for each setup; first runs are kept apart."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

KEEP = 1000  # newest samples of a stage that the percentiles are taken from
TOTAL = "total"


@dataclass(frozen=True, order=True)
class Setup:
    """What ran: model, precision and device."""

    model: str
    precision: str
    device: str

    def __str__(self) -> str:
        return f"{self.model} · {self.precision} · {self.device}"


@dataclass(frozen=True)
class StageFigures:
    """Milliseconds of one stage: the newest, the median, the 95th percentile, and how many runs they are taken from."""

    last: float
    p50: float
    p95: float
    n: int


@dataclass(frozen=True)
class Run:
    """One search: milliseconds by stage, wall time, and whether it paid for a first use."""

    stages: Mapping[str, float]
    total: float
    cold: bool


@dataclass
class _Record:
    warm: set[str] = field(default_factory=set)
    samples: dict[str, deque[float]] = field(default_factory=dict)
    last: Run | None = None
    cold: list[Run] = field(default_factory=list)


class LatencyLog:
    """Thread-safe record of runs by setup."""

    def __init__(self) -> None:
        self._records: dict[Setup, _Record] = {}
        self._lock = threading.Lock()

    def first(self, setup: Setup, towers: Iterable[str], stages: Mapping[str, float]) -> None:
        """Note a first run that was no search (a probe): searches that use only these towers are steady state now."""
        with self._lock:
            kept = self._records.setdefault(setup, _Record())
            kept.warm = set(towers)
            kept.cold.append(Run(dict(stages), sum(stages.values()), cold=True))

    def record(self, setup: Setup, towers: Iterable[str], stages: Mapping[str, float], total: float) -> Run:
        """Keep one run; it counts for the percentiles unless one of its towers ran for the first time."""
        used = set(towers)
        with self._lock:
            kept = self._records.setdefault(setup, _Record())
            run = Run(dict(stages), total, cold=not used <= kept.warm)
            kept.warm |= used
            kept.last = run
            if run.cold:
                kept.cold.append(run)
                return run
            for stage, milliseconds in {**stages, TOTAL: total}.items():
                kept.samples.setdefault(stage, deque(maxlen=KEEP)).append(milliseconds)
            return run

    def last(self, setup: Setup) -> Run | None:
        """The newest run of the setup."""
        with self._lock:
            kept = self._records.get(setup)
            return kept.last if kept else None

    def cold(self, setup: Setup) -> tuple[Run, ...]:
        """The first runs of the setup, oldest first."""
        with self._lock:
            kept = self._records.get(setup)
            return tuple(kept.cold) if kept else ()

    def figures(self, setup: Setup) -> dict[str, StageFigures]:
        """Figures of every stage that ran in steady state, and of `total`."""
        with self._lock:
            kept = self._records.get(setup)
            samples = {stage: list(values) for stage, values in kept.samples.items()} if kept else {}
        return {stage: _figures(values) for stage, values in samples.items()}


def _figures(values: list[float]) -> StageFigures:
    p50, p95 = np.percentile(np.asarray(values), [50, 95])
    return StageFigures(last=values[-1], p50=float(p50), p95=float(p95), n=len(values))
