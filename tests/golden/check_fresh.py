"""A package that no test knows: other sizes, other weights, the whole way through `load_embedder` (see README.md)."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from embedding import load_embedder
from embedding.embedder import Embedder
from embedding.export.package import About, write_package
from embedding.types import Audio, Media, Precision, Role
from tests.golden import inputs
from tests.golden.reference import QUERY, Reference, document
from tests.golden.tiny import Dims, make_model, make_tokenizer

ROWS = tuple[str, Media, np.ndarray]


def check(seed: int) -> None:
    """Print the cosine of every case for fp32 and fp16 weights, and the lowest one for int8."""
    chance = random.Random(seed)
    dims = random_dims(chance)
    budget = chance.choice((70, 140, 280))
    print(f"seed {seed}, budget {budget}, {dims}")
    tokenizer = make_tokenizer()
    model = make_model(tokenizer, dims, seed)
    with tempfile.TemporaryDirectory() as folder:
        for precision in (Precision.FP32, Precision.FP16, Precision.INT8):
            write_package(
                model, tokenizer, Path(folder) / f"fresh-{precision}", precision, About("fresh", max_soft_tokens=budget)
            )
        reference = Reference(model, Path(folder) / "fresh-fp32" / "tokenizer.json", budget)
        cases = list(_cases(reference, chance))
        for precision in (Precision.FP32, Precision.FP16, Precision.INT8):
            with load_embedder("fresh", precision=precision, models_dir=folder) as embedder:
                _compare(embedder, cases, show=precision is Precision.FP32)


def random_dims(chance: random.Random) -> Dims:
    """Sizes that differ from the committed packages, with the switches of the vision tower that those leave off."""
    return Dims(
        hidden=chance.choice((48, 80, 96)),
        feed_forward=chance.choice((112, 144)),
        layers=chance.choice((6, 7)),
        heads=chance.choice((2, 8)),
        head_dim=chance.choice((8, 24, 32)),
        embedding=chance.choice((64, 80, 136)),
        per_layer=chance.choice((16, 40)),
        window=chance.choice((4, 15, 33)),
        vision_hidden=chance.choice((32, 64)),
        vision_layers=chance.choice((1, 3, 4)),
        audio_hidden=chance.choice((16, 48, 64)),
        audio_layers=chance.choice((2, 4)),
        audio_channels=chance.choice((4, 16)),
        clipped_vision=chance.random() < 0.5,
        standardize=chance.random() < 0.5,
    )


def _cases(reference: Reference, chance: random.Random) -> Iterator[ROWS]:
    """Name and role, input, and the reference's vector."""
    for text in (*inputs.TEXTS[:6], "x", "snow " * 150):
        yield "query text", Media(text=text), reference.text(QUERY + text)
        yield "document text", Media(text=text, title="Snow"), reference.text(document("Snow") + text)
    for _ in range(4):
        size = (chance.randint(1, 900), chance.randint(4, 900))
        image = inputs.picture(size, chance.randint(0, 9))
        yield f"document picture {size}", Media(image=image), reference.media(image=image)[0]
        both = reference.media(image=image, around=(QUERY, "red and large"))[0]
        yield f"query picture {size} and text", Media(text="red and large", image=image), both
    for samples in (
        chance.randint(161, 2_000),
        chance.randint(2_000, 60_000),
        chance.randint(60_000, 480_000),
        480_000,
    ):
        wave = inputs.sound(samples, chance.randint(0, 9))
        sound = Audio(wave, inputs.RATE)
        yield f"document sound {samples}", Media(audio=sound), reference.media(sound=wave)[0]
        both = reference.media(sound=wave, around=(document(), "loud"))[0]
        yield f"document sound {samples} and text", Media(text="loud", audio=sound), both


def _compare(embedder: Embedder, cases: list[ROWS], show: bool) -> None:
    """One batch a role through the embedder, cosine with the reference for each row."""
    found: dict[str, float] = {}
    for role in Role:
        chosen = [case for case in cases if case[0].startswith(role)]
        result = embedder.embed([media for _, media, _ in chosen], role=role)
        assert not result.failures, result.failures
        for number, ((name, _, wanted), vector) in enumerate(zip(chosen, result.vectors, strict=True)):
            found[f"{name} #{number}"] = float(vector.astype(np.float64) @ wanted.astype(np.float64))
    if show:
        for name, cosine in found.items():
            print(f"  {cosine:.7f}  {name}")
    print(f"{embedder.precision}: lowest {min(found.values()):.7f}, mean {np.mean(list(found.values())):.7f}")
