"""`models export`: from a checkpoint to a package in the models folder, or the word that it is there already."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from embedding import packages
from embedding.catalog import ModelCard
from embedding.errors import PackageError
from embedding.export.checkpoint import Checkpoint
from embedding.export.gme import Storage
from embedding.export.pipeline import Job, Workshop
from embedding.export.weights import check_settings
from embedding.packages import PackageInfo
from embedding.types import Precision

JOBS = {"gemma": "embedding.export.from_gemma", "gme": "embedding.export.from_gme"}


@dataclass(frozen=True)
class Order:
    """What is asked for: model, precision, checkpoint folder (None: download), models folder, weights' settings."""

    name: str
    precision: str
    out_dir: Path
    checkpoint: Path | None = None
    weights: tuple[str, ...] = ()
    accept_drift: bool = False


def export(order: Order, tell: Callable[[str], None]) -> PackageInfo:
    """Make the package, or reuse the one that is there. PackageError says what is missing or refused."""
    card = packages.card(order.name, order.out_dir)
    if not card.checkpoint:
        raise PackageError(f"{card.name} is not exported: no checkpoint of it is known.")
    package = card.package(order.precision)
    check_settings(order.weights)
    here = packages.describe(card, package, order.out_dir)
    if here.usable and here.path == order.out_dir / package.directory:
        tell(
            f"{card.title} ({package.precision}) is in {here.path} already: reused. Remove the folder to export again."
        )
        return here
    checkpoint = Checkpoint(order.checkpoint or packages.pull_checkpoint(card, order.out_dir, tell), card.checkpoint)
    checkpoint.check()
    job, memory = _job(card, checkpoint, Storage(Precision(order.precision), overrides=order.weights))
    order.out_dir.mkdir(parents=True, exist_ok=True)
    _state_needs(checkpoint, memory, order.out_dir, tell)
    Workshop(job, order.out_dir / package.directory, tell).run(order.accept_drift)
    return packages.describe(card, package, order.out_dir)


def _job(card: ModelCard, checkpoint: Checkpoint, storage: Storage) -> tuple[Job, int]:
    make: Callable[[ModelCard, Checkpoint, Storage], tuple[Job, int]] = importlib.import_module(JOBS[card.family]).job
    return make(card, checkpoint, storage)


def _state_needs(checkpoint: Checkpoint, memory: int, out_dir: Path, tell: Callable[[str], None]) -> None:
    """Say what it takes before it starts."""
    disk = sum(path.stat().st_size for path in checkpoint.files)
    free = shutil.disk_usage(out_dir).free
    tell(
        f"Needs about {memory / 1e9:.1f} GB of memory ({available_memory() / 1e9:.1f} GB are available) and up to "
        f"{disk / 1e9:.1f} GB of disk ({free / 1e9:.1f} GB are free). Stopped half-way it goes on where it was."
    )


def available_memory() -> int:
    """Bytes that programs can have, 0 where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    found = (line.split()[1] for line in lines if line.startswith("MemAvailable"))
    return int(next(found, "0")) * 1024
