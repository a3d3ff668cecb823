"""Is a loaded model sound? One input of each modality through it, and beside the CPU when it runs elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image

from embedding.embedder import Embedder
from embedding.errors import InferenceError
from embedding.types import Audio, Media, Modality, Timings, Vectors

# Devices differ from the CPU by rounding only: bf16 and f16 stay above 0.999, known wrong results are below 0.2.
LEAST_COSINE = 0.99
_NAMES = {Modality.TEXT: "text", Modality.IMAGE: "picture", Modality.AUDIO: "sound"}


def probe_inputs() -> dict[Modality, Media]:
    """One small input of each modality, the same every time: words, a gradient, a second of a tone."""
    ramp = np.linspace(0, 255, 96, dtype=np.uint8)
    pixels = np.stack(np.broadcast_arrays(ramp[:, None], ramp[None, :], np.uint8(128)), axis=-1)
    tone = 0.3 * np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000)
    return {
        Modality.TEXT: Media(text="a red apple on a table", name="probe text"),
        Modality.IMAGE: Media(image=Image.fromarray(pixels), name="probe picture"),
        Modality.AUDIO: Media(audio=Audio(tone.astype(np.float32), 16_000), name="probe sound"),
    }


def probe(embedder: Embedder, step: Callable[[str], None] = lambda _: None) -> tuple[dict[Modality, Vectors], Timings]:
    """A vector [dim] of each modality that the model reads, and what the first run cost.

    Raises InferenceError naming the tower that gave none of unit length.
    """
    timings, vectors = Timings(), dict[Modality, Vectors]()
    for modality, media in probe_inputs().items():
        if modality not in embedder.modalities:
            continue
        step(f"probe {_NAMES[modality]}")
        result = embedder.embed([media], role="query")
        timings.merge(result.timings)
        if result.failures:
            raise InferenceError(f"The {_NAMES[modality]} tower failed its probe: {result.failures[0].reason}")
        length = float(np.linalg.norm(result.vectors[0]))
        if not abs(length - 1.0) < 1e-3:  # also false for NaN
            raise InferenceError(
                f"The {_NAMES[modality]} tower failed its probe: its vector has length {length}, not 1."
            )
        vectors[modality] = result.vectors[0]
    return vectors, timings


def compare_with_cpu(
    embedder: Embedder, load_on_cpu: Callable[[], Embedder], step: Callable[[str], None] = lambda _: None
) -> None:
    """Check a model on another device against the same package on the CPU, which is loaded for that and released.

    Raises InferenceError naming the tower whose vector is another one: some drivers answer wrongly without an error.
    """
    if embedder.device == "CPU":
        return
    found, _ = probe(embedder, step)
    step("compare with the CPU")
    with load_on_cpu() as reference:
        expected, _ = probe(reference)
    for modality, vector in found.items():
        cosine = float(vector @ expected[modality])
        if not cosine >= LEAST_COSINE:
            raise InferenceError(
                f"The {_NAMES[modality]} tower computes wrongly on {embedder.device}: cosine {cosine:.3f} to the CPU's "
                f"vector, {LEAST_COSINE} is the least. Choose another device."
            )
