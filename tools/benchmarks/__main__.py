"""Latency of one setup, from decoded input to vector: a sentence, a picture, a second of sound.

python -m tools.benchmarks --model nano --precision int8 --device CPU
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from embedding import Audio, Embedder, load_embedder
from embedding.media import decode_audio, decode_image
from embedding.types import Item, Role

LIBRARY = Path(__file__).resolve().parents[2] / "assets" / "library"
SENTENCE = "The dog is barking at the gate, because the postman is coming."
WARM_UP = 3


def inputs() -> dict[str, tuple[Item, Role]]:
    """One input of each kind, decoded: a sentence asked as a query, a photo, and one second of speech."""
    sound = decode_audio(LIBRARY / "sounds" / "dog-at-the-gate.ogg")
    return {
        "sentence": (SENTENCE, Role.QUERY),
        "picture": (decode_image(LIBRARY / "pictures" / "german-shepherd.jpg"), Role.DOCUMENT),
        "second of sound": (Audio(sound.samples[: sound.rate], sound.rate), Role.DOCUMENT),
    }


def measure(embedder: Embedder, item: Item, role: Role, runs: int) -> dict[str, float]:
    """Milliseconds of `runs` calls after a warm-up: first call, median, 95th percentile, and medians by stage."""
    times: list[float] = []
    stages: dict[str, list[float]] = {}
    for _ in range(WARM_UP + runs):
        start = time.perf_counter()
        result = embedder.embed([item], role)
        times.append((time.perf_counter() - start) * 1000)
        if result.failures:
            raise SystemExit(f"benchmark: {result.failures[0].reason}")
        for stage, milliseconds in result.timings.ms.items():
            stages.setdefault(stage, []).append(milliseconds)
    steady = times[WARM_UP:]
    row = {"first": times[0], "p50": float(np.median(steady)), "p95": float(np.percentile(steady, 95))}
    return row | {stage: float(np.median(values[-runs:])) for stage, values in stages.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.benchmarks", description=__doc__)
    parser.add_argument("--model", default="nano")
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--models-dir", type=Path)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    with load_embedder(options.model, options.precision, options.device, options.models_dir) as embedder:
        load = (time.perf_counter() - start) * 1000
        rows = {name: measure(embedder, item, role, options.runs) for name, (item, role) in inputs().items()}
    if options.json:
        setup = {"model": options.model, "precision": options.precision, "device": options.device}
        print(json.dumps({**setup, "processor": platform.processor(), "load": load, "rows": rows}))
        return
    print(f"{options.model} {options.precision} on {options.device}, loaded in {load:.0f} ms; {options.runs} runs, ms")
    for name, row in rows.items():
        print(f"{name:16} " + "  ".join(f"{stage} {milliseconds:.1f}" for stage, milliseconds in row.items()))


if __name__ == "__main__":
    main()
