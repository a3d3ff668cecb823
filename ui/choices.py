"""What can be chosen in the bar, and why the rest cannot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from embedding.types import Precision
from ui.latency import Setup
from ui.models import DeviceRow, PackageRow


@dataclass(frozen=True)
class Choice:
    """An entry of a drop-down; `reason` says why it cannot be chosen, empty when it can."""

    value: str
    label: str
    reason: str = ""


@dataclass(frozen=True)
class Choices:
    """The three drop-downs of the bar."""

    models: tuple[Choice, ...]
    precisions: tuple[Choice, ...]
    devices: tuple[Choice, ...]


KNOWN_DEVICES = ("CPU", "GPU", "NPU", "AUTO")


def choices(packages: Sequence[PackageRow], devices: Sequence[DeviceRow] | None, current: Setup) -> Choices:
    """Every known model, precision and device (None: still being looked for); precisions are those of the model."""
    return Choices(_models(packages), _precisions(packages, current.model), _devices(devices, current.device))


def precision_of(packages: Sequence[PackageRow], model: str, wanted: str) -> str | None:
    """The wanted precision when the model has it here, else the first it has; None when it has none."""
    here = [row.precision for row in packages if row.model == model and row.here]
    return wanted if wanted in here else next(iter(here), None)


def _models(packages: Sequence[PackageRow]) -> tuple[Choice, ...]:
    found: dict[str, list[PackageRow]] = {}
    for row in packages:
        found.setdefault(row.model, []).append(row)
    return tuple(
        Choice(model, rows[0].title, "" if any(row.here for row in rows) else _missing(rows))
        for model, rows in found.items()
    )


def _precisions(packages: Sequence[PackageRow], model: str) -> tuple[Choice, ...]:
    rows = {row.precision: row for row in packages if row.model == model}
    return tuple(Choice(name, name, _precision_reason(rows.get(name))) for name in map(str, Precision))


def _precision_reason(row: PackageRow | None) -> str:
    if row is None:
        return "no such package"
    return "" if row.here else _missing([row])


def _missing(rows: Iterable[PackageRow]) -> str:
    problems = [row.problem for row in rows if row.problem]
    return problems[0] if problems else "not downloaded"


def _devices(devices: Sequence[DeviceRow] | None, current: str) -> tuple[Choice, ...]:
    if devices is None:
        others = [name for name in KNOWN_DEVICES if name != current]
        return (Choice(current, current), *(Choice(name, name, "being looked for") for name in others))
    found = [Choice(row.name, row.name, row.reason) for row in devices]
    bases = {row.name.split(".")[0] for row in devices} | {"AUTO"}
    missing = [Choice(name, name, "not on this machine") for name in KNOWN_DEVICES if name not in bases]
    automatic = [Choice("AUTO", "AUTO")] if all(row.name != "AUTO" for row in devices) else []
    return tuple(found + automatic + missing)
