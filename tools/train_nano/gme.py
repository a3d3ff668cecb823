"""The whole training of nano-gme: `python -m tools.train_nano.gme` runs every stage; name some to run only those.

Stages: language, head, package, evaluate, card. They need the sources, pictures and features of nano's own stages
(`python -m tools.train_nano fetch draw features`). Time budgets are minutes on a quiet machine with two cores.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent


def language(work: Path) -> None:
    """Distil the language model."""
    from tools.train_nano import gme_train

    if not (work / "gme" / "language.pt").is_file():
        gme_train.train(work, minutes=12)


def head(work: Path) -> None:
    """Train the vision head against the language model."""
    from tools.train_nano import gme_vision

    if not (work / "gme" / "head.pt").is_file():
        gme_vision.train_head(work, minutes=3)


def package(work: Path) -> None:
    """Write the packages: INT8 and INT4 into the repository, fp16 beside the work."""
    from tools.train_nano import gme_package

    gme_package.write_packages(work)


def evaluate(work: Path) -> None:
    """Measure the packages through the application's own path."""
    from tools.train_nano import gme_evaluate

    gme_evaluate.evaluate_all(work)


def card(work: Path) -> None:
    """Write the model cards from what was measured."""
    from tools.train_nano import gme_card

    gme_card.write_cards(work)


STAGES: dict[str, Callable[[Path], None]] = {
    stage.__name__: stage for stage in (language, head, package, evaluate, card)
}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.train_nano.gme", description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"of {', '.join(STAGES)}; all when none is named")
    parser.add_argument("--work", type=Path, default=HERE / "work", help="folder of downloads and checkpoints")
    options = parser.parse_args()
    unknown = set(options.stages) - set(STAGES)
    if unknown:
        parser.error(f"no stage {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    for name in options.stages or STAGES:
        print(f"== {name}", flush=True)
        STAGES[name](options.work)


if __name__ == "__main__":
    main()
