"""What the page needs of the embedding layer, as plain rows: packages, devices, loading and downloading."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from embedding.types import Modality

if TYPE_CHECKING:
    from embedding.embedder import Embedder, LoadOptions
    from embedding.packages import PackageInfo


@dataclass(frozen=True)
class PackageRow:
    """One package of one model: what it is, whether it is here, and what is missing if it is not."""

    model: str
    title: str
    precision: str
    here: bool
    where: str = ""
    size: int = 0
    problem: str = ""
    licence: str = ""
    description: str = ""
    modalities: tuple[Modality, ...] = tuple(Modality)
    source: str = ""
    directory: str = ""
    url: str = ""
    builtin: bool = False


@dataclass(frozen=True)
class DeviceRow:
    """A device that is present; `reason` says why it cannot be used all the same."""

    name: str
    full_name: str
    version: str = ""
    reason: str = ""


class Engines(Protocol):
    """The door to models. `Shelf` is the real one; tests put a computing fake here."""

    def packages(self) -> tuple[PackageRow, ...]:
        """Every package that is known or found in the models folder."""

    def devices(self) -> tuple[DeviceRow, ...]:
        """Devices that are present."""

    def load(self, model: str, precision: str, device: str) -> Embedder:
        """A ready embedder; TriptychError when it cannot be had."""

    def pull(self, model: str, precision: str, progress: Callable[[int, int, str], None]) -> None:
        """Download a package; `progress` gets bytes done, bytes in all, and the file."""


class Shelf:
    """Models of this machine: the built-in one, and what lies in the models folder; `options` go to every load."""

    def __init__(self, models_dir: Path, options: LoadOptions | None = None) -> None:
        self.models_dir = models_dir
        self.options = options

    def packages(self) -> tuple[PackageRow, ...]:
        """Every known package, read anew from the disk."""
        from embedding.packages import list_packages

        return tuple(_row(info) for info in list_packages(self.models_dir))

    def devices(self) -> tuple[DeviceRow, ...]:
        """What OpenVINO finds, each tried in a process of its own."""
        from embedding.devices import find_devices

        found = find_devices(self.options.plugins if self.options else None)
        return tuple(DeviceRow(device.name, device.full_name, device.version, device.reason) for device in found)

    def load(self, model: str, precision: str, device: str) -> Embedder:
        """Compile the towers of a package on a device."""
        from embedding import load_embedder

        return load_embedder(model, precision, device, self.models_dir, self.options)

    def pull(self, model: str, precision: str, progress: Callable[[int, int, str], None]) -> None:
        """Download a package into the models folder."""
        from embedding.packages import Hub, pull

        pull(model, precision, self.models_dir, Hub(report=lambda name, done, total: progress(done, total, name)))


def _row(info: PackageInfo) -> PackageRow:
    card, package = info.card, info.package
    return PackageRow(
        model=card.name,
        title=card.title,
        precision=str(package.precision),
        here=info.usable,
        where=str(info.path or ""),
        size=info.size,
        problem="; ".join(info.problems) or ("" if info.usable else info.state),
        licence=card.licence,
        description=card.description,
        modalities=tuple(sorted(card.modalities)),
        source=package.repo,
        directory=package.directory,
        url=card.url,
        builtin=card.builtin,
    )
