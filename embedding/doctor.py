"""What is here and whether it works: versions, devices, packages, and one embedding of each modality."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from embedding import packages, runtime
from embedding.checks import compare_with_cpu, probe_inputs
from embedding.devices import find_devices
from embedding.embedder import Embedder, load_embedder
from embedding.errors import InferenceError, TriptychError
from embedding.plan import Device
from embedding.types import Modality

_LIBRARIES = ("gradio", "numpy", "pillow", "soundfile", "soxr", "faiss-cpu", "tokenizers", "huggingface_hub")


@dataclass(frozen=True)
class Check:
    """One thing that was tried."""

    name: str
    ok: bool
    detail: str


@dataclass
class Report:
    """Everything that was found; `ok` is false when any check failed."""

    versions: dict[str, str]
    devices: list[Device]
    packages: tuple[packages.PackageInfo, ...]
    checks: list[Check] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True when every check passed."""
        return all(check.ok for check in self.checks)

    def check(self, name: str, attempt: Callable[[], str]) -> None:
        """Try something that says what it found or raises TriptychError."""
        try:
            self.checks.append(Check(name, True, attempt()))
        except TriptychError as error:
            self.checks.append(Check(name, False, str(error)))

    def as_json(self) -> dict[str, Any]:
        """The report as one JSON document."""
        return {
            "ok": self.ok,
            "versions": self.versions,
            "devices": [{**vars(device), "capabilities": list(device.capabilities)} for device in self.devices],
            "packages": [
                {
                    "name": row.card.name,
                    "precision": str(row.package.precision),
                    "state": row.state,
                    "path": str(row.path) if row.path else None,
                    "problems": list(row.problems),
                }
                for row in self.packages
            ],
            "checks": [vars(check) for check in self.checks],
        }

    def as_text(self) -> str:
        """The report for a terminal."""
        lines = ["Versions", *(f"  {name:20} {version}" for name, version in self.versions.items())]
        lines += ["Devices", *(f"  {d.name:20} {d.reason or f'{d.full_name} ({d.version})'}" for d in self.devices)]
        lines += ["Packages"]
        lines += [f"  {row.card.name:20} {row.package.precision:5} {row.state}" for row in self.packages]
        lines += ["Checks", *(f"  {'ok  ' if c.ok else 'FAIL'} {c.name:14} {c.detail}" for c in self.checks)]
        return "\n".join(lines)


def examine(model: str, precision: str, device: str, models_dir: Path | None) -> Report:
    """Look at everything and embed one text, picture and sound with the chosen model."""
    found = {"python": platform.python_version(), **runtime.versions()}
    found.update({name: _version(name) for name in _LIBRARIES})
    rows = packages.list_packages(models_dir)
    report = Report(found, list(find_devices()), rows)
    for row in rows:
        if row.path is not None:
            report.check(f"{row.card.name} {row.package.precision}", partial(_sound, row))
    loaded: list[Embedder] = []
    report.check("load", lambda: _load(loaded, model, precision, device, models_dir))
    if loaded:
        with loaded[0] as embedder:
            for modality in sorted(embedder.modalities):
                report.check(modality, partial(_embed, embedder, modality))
            if device != "CPU":
                on_cpu = partial(load_embedder, model, precision, "CPU", models_dir)
                report.check("as on the CPU", partial(_compare, embedder, on_cpu))
    return report


def _load(loaded: list[Embedder], model: str, precision: str, device: str, models_dir: Path | None) -> str:
    embedder = load_embedder(model, precision, device, models_dir)
    loaded.append(embedder)
    towers = ", ".join(f"{plan.tower} on {plan.granted_device} {plan.precision}".strip() for plan in embedder.plan)
    return f"{model} {precision}, {embedder.dim} dimensions: {towers}"


def _embed(embedder: Embedder, modality: Modality) -> str:
    result = embedder.embed([probe_inputs()[modality]])
    if result.failures:
        raise InferenceError(result.failures[0].reason)
    return f"a finite unit vector in {result.timings.total:.0f} ms"


def _compare(embedder: Embedder, on_cpu: Callable[[], Embedder]) -> str:
    compare_with_cpu(embedder, on_cpu)
    return f"{embedder.device} and CPU give the same vectors"


def _sound(row: packages.PackageInfo) -> str:
    faults = [*row.problems, *packages.verify(row)]
    if faults:
        raise InferenceError(f"{row.path}: {'; '.join(faults)}")
    return f"{row.size / 1e6:.0f} MB in {row.path}"


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing"
