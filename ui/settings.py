"""Everything that can be set, as one value, and the embedder it asks for. Read once in app.py and passed down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embedding import Embedder
    from embedding.embedder import LoadOptions

CACHE = "compiled"


@dataclass(frozen=True)
class Settings:
    """`model` is None for the best model that is here; the last six for what the model or OpenVINO does by itself."""

    data_dir: Path
    models_dir: Path
    model: str | None
    precision: str | None
    device: str
    host: str = "127.0.0.1"
    port: int = 7860
    root_path: str = ""
    samples: bool = True
    instruction: str | None = None
    image_budget: int | None = None
    dim: int | None = None
    performance: str = "LATENCY"
    gpu_plugin: Path | None = None
    cache: bool = True

    @property
    def cache_dir(self) -> Path:
        """Folder of compiled graphs."""
        return self.data_dir / CACHE


def load_options(settings: Settings) -> LoadOptions:
    """How models are loaded under these settings. DeviceError when the plugin is no file."""
    from embedding.devices import use_plugin
    from embedding.embedder import LoadOptions
    from embedding.plan import Performance

    return LoadOptions(
        cache_dir=settings.cache_dir if settings.cache else None,
        plugins=use_plugin("GPU", settings.gpu_plugin, settings.data_dir) if settings.gpu_plugin else None,
        performance=Performance(settings.performance),
        instruction=settings.instruction,
        image_budget=settings.image_budget,
        dim=settings.dim,
    )


def pick(settings: Settings) -> tuple[str, str]:
    """Name and precision to load: what was asked for, else the best that is here (`nano` without a download)."""
    from embedding import packages

    return packages.choose(settings.model, settings.precision, settings.models_dir)


def load(settings: Settings) -> Embedder:
    """The embedder that the settings ask for."""
    from embedding import load_embedder

    name, precision = pick(settings)
    return load_embedder(name, precision, settings.device, settings.models_dir, load_options(settings))
