"""A package, stage by stage: written whole or not at all, and taken up again where it stopped.

All is made in a hidden folder beside the package's place: plain graphs first, then their stored forms, config and
tokenizer, and the drift report. Moving it into place is the last step.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openvino as ov

from embedding.errors import PackageError
from embedding.export.drift import DriftReport
from embedding.export.weights import Weights, save
from embedding.packages import RECORD

Tell = Callable[[str], None]
Feeds = list[dict[str, Any]]
DRIFT_FILE = "drift.json"


@dataclass(frozen=True)
class Part:
    """One graph of a package: its name, its file in the package, and how to make it in full precision."""

    name: str
    file: str
    make: Callable[[], ov.Model]


@dataclass(frozen=True)
class Job:
    """What is made: parts, how their weights are stored, texts beside them, and what it is made of.

    `write_texts(folder)` writes config and tokenizer; `samples(plain, folder)` gives feeds of the calibrated part;
    `drift(plain, folder)` compares plain and stored graphs. `source` names what the graphs are made of: when it
    changes, nothing half-made is used.
    """

    parts: tuple[Part, ...]
    weights: Mapping[str, Weights]
    source: Mapping[str, Any]
    write_texts: Callable[[Path], None]
    samples: Callable[[Path, Path], Feeds] | None = None
    drift: Callable[[Path, Path], DriftReport] | None = None


class Workshop:
    """The hidden folder of a job: `plain` and `package` graphs, and a record of the stages that are done."""

    def __init__(self, job: Job, out_dir: Path, tell: Tell) -> None:
        self.job, self.out_dir, self._tell = job, out_dir, tell
        self.folder = out_dir.parent / f".{out_dir.name}.export"
        self.plain, self.package = self.folder / "plain", self.folder / "package"
        self._identity = _digest({**job.source, "openvino": ov.get_version()})
        self._storage = _digest({name: str(weights) for name, weights in job.weights.items()})[:8]
        self._done = self._resumed()

    def run(self, accept_drift: bool = False) -> Path:
        """Do what is left and move the package into place; PackageError when it drifts too far."""
        stages = self._stages()
        for number, (name, stage) in enumerate(stages, start=1):
            where = f"[{number}/{len(stages)}] {name}"
            # What names no weights itself is done again when they are stored in another way.
            key = name if name.startswith(("trace", "store")) else f"{name} {self._storage}"
            if key in self._done:
                self._tell(f"{where}: done before")
                continue
            self._tell(f"{where} ...")
            start = time.monotonic()
            stage()
            self._mark(key)
            self._tell(f"{where}: {time.monotonic() - start:.0f} s")
        self._judge(accept_drift)
        write_json(self.package / RECORD, record_of(self.package))
        put_in_place(self.package, self.out_dir)
        shutil.rmtree(self.folder)
        return self.out_dir

    def _stages(self) -> list[tuple[str, Callable[[], None]]]:
        stages: list[tuple[str, Callable[[], None]]] = [
            ("config and tokenizer", lambda: self.job.write_texts(self.package))
        ]
        stages += [(f"trace {part.name}", self._tracing(part)) for part in self.job.parts]
        stages += [
            (f"store {part.name} as {self.job.weights[part.name]}", self._storing(part)) for part in self.job.parts
        ]
        if self.job.drift is not None:
            stages.append(("drift report", self._report))
        return stages

    def _tracing(self, part: Part) -> Callable[[], None]:
        """The plain graph: 16-bit weights, or 32-bit ones for a package of those."""
        full = Weights("fp32" if self.job.weights[part.name].mode == "fp32" else "fp16")
        return lambda: save(part.make(), self.plain / part.file, full)

    def _storing(self, part: Part) -> Callable[[], None]:
        weights = self.job.weights[part.name]

        def store() -> None:
            if weights.mode in ("fp16", "fp32"):
                for suffix in (".xml", ".bin"):
                    source, target = (folder / part.file for folder in (self.plain, self.package))
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(source.with_suffix(suffix), target.with_suffix(suffix))
                return
            samples = None
            if weights.calibrated and self.job.samples is not None:
                samples = self.job.samples(self.plain, self.package)
            save(ov.Core().read_model(str(self.plain / part.file)), self.package / part.file, weights, samples)

        return store

    def _report(self) -> None:
        assert self.job.drift is not None
        write_json(self.package / DRIFT_FILE, self.job.drift(self.plain, self.package).as_json())

    def _judge(self, accept_drift: bool) -> None:
        path = self.package / DRIFT_FILE
        if not path.is_file():
            return
        report = json.loads(path.read_text(encoding="utf-8"))
        lowest = min(row["cosine_min"] for row in report["kinds"].values())
        self._tell(f"drift: {json.dumps(report['kinds'])}, top-1 agreement {report['top1_agreement']:.2f}")
        if not report["passed"] and not accept_drift:
            raise PackageError(
                f"The package drifts from the original: lowest cosine {lowest:.4f}, below {report['threshold']}. "
                "Choose finer weights (`--weights language=int4_asym:64`), or run the command again with "
                "--accept-drift; what was made is kept."
            )

    def _resumed(self) -> set[str]:
        """Stages done before for the same job; anything else that lies there is thrown away."""
        try:
            state = json.loads((self.folder / "state.json").read_text(encoding="utf-8"))
            if state["identity"] == self._identity:
                return set(state["done"])
        except (OSError, ValueError, KeyError):
            pass
        shutil.rmtree(self.folder, ignore_errors=True)
        self.package.mkdir(parents=True)
        return set()

    def _mark(self, stage: str) -> None:
        self._done.add(stage)
        write_json(self.folder / "state.json", {"identity": self._identity, "done": sorted(self._done)})


def record_of(folder: Path) -> dict[str, Any]:
    """Size and sha256 of every file, as `models verify` checks them."""
    files = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != RECORD):
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        files[path.relative_to(folder).as_posix()] = {"size": path.stat().st_size, "sha256": sha256}
    return {"repo": "", "revision": "", "files": files}


def put_in_place(made: Path, out_dir: Path) -> None:
    """Move a finished package to its place; an older one there is replaced."""
    old = out_dir.with_name(f".{out_dir.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if out_dir.exists():
        out_dir.rename(old)
    made.rename(out_dir)
    shutil.rmtree(old, ignore_errors=True)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """One key a line, whole or not at all."""
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(partial, path)


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
