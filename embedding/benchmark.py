"""Latency of several setups on one fixed workload, measured in turn so that drift of the machine hits all alike."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from PIL import Image

from embedding import runtime
from embedding.devices import find_devices
from embedding.embedder import Embedder
from embedding.report import html_report
from embedding.types import Audio, Item, Modality, Role

WARM_UP = 2
SOUND_SECONDS = 11


@dataclass(frozen=True)
class Setup:
    """What is compared: model, precision, device, image budget and vector size (None: the model's own)."""

    model: str
    precision: str
    device: str = "CPU"
    image_budget: int | None = None
    dim: int | None = None

    def __str__(self) -> str:
        more = [
            f"{self.image_budget} image tokens" if self.image_budget else "",
            f"{self.dim} dims" if self.dim else "",
        ]
        return " · ".join([self.model, self.precision, self.device, *filter(None, more)])


@dataclass(frozen=True)
class Task:
    """One thing that is timed: its name, the inputs of one call, and their role."""

    name: str
    items: tuple[Item, ...]
    role: Role
    modality: Modality


@dataclass
class Row:
    """Times of one task on one setup in ms: the first call apart, then every measured one."""

    setup: Setup
    task: str
    first: float = 0.0
    times: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=dict)
    failure: str = ""

    def quantile(self, share: float) -> float:
        """A quantile of the measured times; 0 before there are any."""
        return float(np.quantile(self.times, share)) if self.times else 0.0


@dataclass(frozen=True)
class Tick:
    """Progress: rounds times setups done, of so many, and what was just run."""

    done: int
    total: int
    doing: str


@dataclass
class Result:
    """All rows, load times in ms by setup, and where it was measured."""

    rows: list[Row]
    loads: dict[str, float]
    machine: dict[str, str]
    measured_at: str

    def table(self) -> list[dict[str, Any]]:
        """One flat record a row: median, 5 and 95 % quantile, and the ratio of the median to the first setup's."""
        base = {row.task: row.quantile(0.5) for row in reversed(self.rows) if row.setup == self.rows[0].setup}
        return [
            {
                "setup": str(row.setup),
                "task": row.task,
                "n": len(row.times),
                "first_ms": round(row.first, 3),
                "median_ms": round(row.quantile(0.5), 3),
                "p5_ms": round(row.quantile(0.05), 3),
                "p95_ms": round(row.quantile(0.95), 3),
                "ratio": round(row.quantile(0.5) / base[row.task], 3) if row.times and base.get(row.task) else None,
                "failure": row.failure,
            }
            for row in self.rows
        ]

    def as_json(self) -> str:
        """Everything, single times included."""
        rows = [
            {
                **flat,
                "times_ms": row.times,
                "stages_ms": {stage: float(np.median(ms)) for stage, ms in row.stages.items()},
                **asdict(row.setup),
            }
            for flat, row in self._pairs()
        ]
        document = {"measured_at": self.measured_at, "machine": self.machine, "load_ms": self.loads, "rows": rows}
        return json.dumps(document, indent=1)

    def as_csv(self) -> str:
        """The table."""
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(self.table()[0]) if self.rows else ["setup"])
        writer.writeheader()
        writer.writerows(self.table())
        return stream.getvalue()

    def as_html(self) -> str:
        """One page that needs nothing else."""
        return html_report(self.table(), self.loads, {"measured": self.measured_at, **self.machine})

    def _pairs(self) -> Iterator[tuple[dict[str, Any], Row]]:
        return zip(self.table(), self.rows, strict=True)


def workload() -> tuple[Task, ...]:
    """A short query, 64 documents of some 5 to 60 words, one picture of a megapixel, and 11 seconds of sound."""
    random = np.random.default_rng(11)
    words = ["harbour", "morning", "the", "old", "boat", "rows", "past", "a", "stone", "bridge", "under", "grey", "sky"]
    texts = tuple(" ".join(random.choice(words, size=random.integers(5, 60))) for _ in range(64))
    picture = Image.fromarray(random.integers(0, 255, (250, 250, 3), dtype=np.uint8)).resize((1000, 1000))
    samples = random.standard_normal(16_000 * SOUND_SECONDS).astype(np.float32) * 0.1
    return (
        Task("short query", ("a boat in the harbour",), Role.QUERY, Modality.TEXT),
        Task("64 documents", texts, Role.DOCUMENT, Modality.TEXT),
        Task("picture of 1 megapixel", (picture,), Role.DOCUMENT, Modality.IMAGE),
        Task(f"sound of {SOUND_SECONDS} s", (Audio(samples, 16_000),), Role.DOCUMENT, Modality.AUDIO),
    )


def measure(
    setups: Sequence[Setup],
    load: Callable[[Setup], Embedder],
    rounds: int = 9,
    search: Callable[[], float] | None = None,
) -> Iterator[Tick | Result]:
    """Load all setups, warm up, then run every task on every setup in turn, `rounds` times; the result comes last.

    `search` runs one search over the library and gives its ms; it is timed once a round. A task that a model cannot
    do is a row with the reason. Closing the iterator stops the measurement and releases the models.
    """
    loaded: list[tuple[Setup, Embedder]] = []
    loads: dict[str, float] = {}
    total = len(setups) * (rounds + WARM_UP + 1)
    try:
        for number, setup in enumerate(setups, 1):
            yield Tick(number - 1, total, f"loading {setup}")
            start = time.perf_counter()
            loaded.append((setup, load(setup)))
            loads[str(setup)] = (time.perf_counter() - start) * 1000.0
        rows = {(setup, task.name): Row(setup, task.name) for setup, _ in loaded for task in workload()}
        searches = Row(setups[0], "search of the library")
        for turn in range(-WARM_UP, rounds):
            for number, (setup, embedder) in enumerate(loaded):
                yield Tick(len(setups) + (turn + WARM_UP) * len(setups) + number, total, str(setup))
                for task in workload():
                    _run(rows[setup, task.name], embedder, task, turn)
            if search is not None and turn >= 0:
                searches.times.append(search())
        found = [*rows.values(), *([searches] if searches.times else [])]
        yield Result(found, loads, machine(), datetime.now(UTC).isoformat(timespec="seconds"))
    finally:
        for _, embedder in loaded:
            embedder.close()


def _run(row: Row, embedder: Embedder, task: Task, turn: int) -> None:
    if row.failure:
        return
    if task.modality not in embedder.modalities:
        row.failure = f"the model reads no {task.modality}"
        return
    start = time.perf_counter()
    result = embedder.embed(task.items, task.role)
    milliseconds = (time.perf_counter() - start) * 1000.0
    if result.failures:
        row.failure = result.failures[0].reason
        return
    if turn == -WARM_UP:
        row.first = milliseconds
    if turn >= 0:
        row.times.append(milliseconds)
        for stage, value in result.timings.ms.items():
            row.stages.setdefault(stage, []).append(value)


def machine() -> dict[str, str]:
    """Processor, cores, system and versions, for a report that must stand alone."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count() or "?"),
        "system": platform.platform(),
        "python": platform.python_version(),
        **runtime.versions(),
    }


def _processor() -> str:
    named = next((device.full_name for device in find_devices() if device.name == "CPU"), "")
    return named or platform.processor() or platform.machine()
