"""Models that compute (see tests/index/fakes.py), and a shelf of them: two load, one is absent, one is broken."""

from types import SimpleNamespace

import numpy as np

from embedding.errors import PackageError
from embedding.runtime import TowerPlan
from embedding.types import Precision
from tests.index.fakes import FakeEmbedder
from ui.models import DeviceRow, PackageRow


class StudioEmbedder(FakeEmbedder):
    """With the parts that the page shows; using it after `close` is an error."""

    def __init__(self, model="colours", precision="int8", device="CPU", **options):
        super().__init__(model, **options)
        self.card = SimpleNamespace(name=model, title=f"{model.title()} (fake)", builtin=model == "colours")
        self.precision = Precision(precision)
        self.device = device
        self.plan = tuple(TowerPlan(tower, device, device, "f32") for tower in ("text", "vision", "audio"))
        self.closed = False

    def embed(self, items, role="document"):
        assert not self.closed, "used after close"
        return super().embed(items, role)

    def close(self):
        self.closed = True


class BrokenEmbedder(StudioEmbedder):
    """Gives vectors that are not finite, as a device with a defect does."""

    def _vector(self, item):
        return np.full(self.dim, np.nan, np.float32)


class FakeShelf:
    """Where a studio finds models."""

    def __init__(self):
        self.loaded: list[StudioEmbedder] = []
        self.pulled = False

    def packages(self):
        return (
            PackageRow("colours", "Colours", "int8", True, builtin=True),
            PackageRow("shades", "Shades", "int8", True),
            PackageRow("shades", "Shades", "fp16", True),
            PackageRow("broken", "Broken", "int8", True),
            PackageRow(
                "embeddinggemma-2",
                "EmbeddingGemma 2",
                "int8",
                self.pulled,
                size=741_000_000,
                source="someone/package",
                problem="" if self.pulled else "not downloaded",
                directory="embeddinggemma-2-int8",
            ),
        )

    def devices(self):
        return (DeviceRow("CPU", "A fake processor", "1.0"),)

    def load(self, model, precision, device):
        if model == "embeddinggemma-2" and not self.pulled:
            raise PackageError("The int8 package of embeddinggemma-2 is not here.")
        if device != "CPU":
            raise PackageError(f"There is no device {device!r} on this machine.")
        embedder = (BrokenEmbedder if model == "broken" else StudioEmbedder)(model, precision, device)
        self.loaded.append(embedder)
        return embedder

    def pull(self, model, precision, progress):
        progress(1, 2, "text_int8.bin")
        raise PackageError(f"{model} could not be downloaded: no network. Run `python app.py models pull {model}`.")
