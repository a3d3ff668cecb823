"""The whole training of nano: `python -m tools.train_nano` runs every stage, each skipped or resumed where it was.

Stages: fetch, draw, text, features, vision, audio, package, evaluate, card. Name some to run only those. Seeds are
fixed; the time budgets are in minutes on a quiet machine with two cores. `--fresh` starts text and vision over.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "assets" / "models" / "nano-int8"


def fetch(work: Path) -> None:
    """Download and unpack every source."""
    from tools.train_nano import sources

    sources.fetch(work)


def draw(work: Path) -> None:
    """Draw the emoji styles."""
    from tools.train_nano import pictures

    pictures.draw(work)
    pictures.unpack_painted(work)


def text(work: Path) -> None:
    """Distil the text tower."""
    from tools.train_nano import text_train

    if not (work / "text" / "tower.pt").is_file():
        text_train.train(work, minutes=25)


def features(work: Path) -> None:
    """Run the frozen backbone over every view of every picture."""
    from tools.train_nano import pictures, vision_features, vision_train

    for view in range(vision_train.VIEWS):
        vision_features.view_features(work, pictures.training_pictures(work), view)


def vision(work: Path) -> None:
    """Train the vision head against the text tower."""
    from tools.train_nano import vision_train

    if not (work / "vision" / "head.pt").is_file():
        vision_train.train(work)


def audio(work: Path) -> None:
    """Train the audio tower; it leaves audio_int8 and audio_fp16 in `audio/package`."""
    for stage in ("fetch", "map", "encode", "train", "export"):
        command = [sys.executable, "-m", "tools.train_nano.audio", stage, "--work", str(work)]
        subprocess.run(command, cwd=HERE.parents[1], check=True)


def package(work: Path) -> None:
    """Write both packages: INT8 into the repository, fp16 beside the work."""
    from tools.train_nano import package as packing

    packing.check_control_ids()
    packing.write_package(work, PACKAGE, packing.INT8)
    packing.write_package(work, work / "nano-fp16", packing.FP16)


def evaluate(work: Path) -> None:
    """Measure the packed model through the application's own path."""
    for module in (["tools.train_nano.evaluate"], ["tools.train_nano.audio", "evaluate"]):
        command = [sys.executable, "-m", *module, "--work", str(work)]
        subprocess.run(command, cwd=HERE.parents[1], check=True)


def card(work: Path) -> None:
    """Write the model card from what was measured."""
    from tools.train_nano import card as writing

    writing.write_card(work, PACKAGE)


STAGES: dict[str, Callable[[Path], None]] = {
    stage.__name__: stage for stage in (fetch, draw, text, features, vision, audio, package, evaluate, card)
}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.train_nano", description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"of {', '.join(STAGES)}; all when none is named")
    parser.add_argument("--work", type=Path, default=HERE / "work", help="folder of downloads and checkpoints")
    parser.add_argument("--fresh", action="store_true", help="forget the trained text and vision towers first")
    options = parser.parse_args()
    unknown = set(options.stages) - set(STAGES)
    if unknown:
        parser.error(f"no stage {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    os.environ["TRIPTYCH_NANO_WORK"] = str(options.work)
    if options.fresh:
        for part in ("text", "vision"):
            shutil.rmtree(options.work / part, ignore_errors=True)
    for name in options.stages or STAGES:
        print(f"== {name}", flush=True)
        STAGES[name](options.work)


if __name__ == "__main__":
    main()
