"""The clips to make: training lines in the order of their worth, and the held-out lines of the evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tools.train_nano.audio_features import Line
from tools.train_nano.audio_voices import HELD_OUT, Voice, draw_voice
from tools.train_nano.audio_words import (
    dictionary_words,
    everyday_names,
    example_sentences,
    name_tags,
    template_sentences,
)

SEED = 7
HELD_SENTENCES = 300
JOE_SHARE = 0.25
MORE_LINES = 6400


def _lines(texts: Sequence[str], seed: int) -> list[Line]:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(texts))
    return [Line(texts[i], draw_voice(rng, JOE_SHARE), int(rng.integers(1 << 31))) for i in order]


def training_lines(emoji: Path, stage: str) -> list[Line]:
    """One stage of the training set; stages are independent, so a run may stop after any of them.

    names: four voices for each everyday name; words: tags, other names and dictionary words once; talk: sentences;
    more1, more2 ...: 6,400 clips of all kinds, with other voices and other sentences.
    """
    names = everyday_names(emoji)
    tags = name_tags(emoji)
    words = list(dict.fromkeys([*tags, *(t for row in tags.values() for t in row), *dictionary_words()]))
    talk = example_sentences()
    rng = np.random.default_rng(SEED)
    talk = [talk[i] for i in rng.permutation(len(talk))][HELD_SENTENCES:]
    if stage == "names":
        return _lines(names * 4, SEED)
    if stage == "words":
        return _lines(words, SEED + 1)
    if stage == "talk":
        return _lines([*template_sentences(emoji, 4000, SEED), *talk[:3000]], SEED + 2)
    number = int(stage.removeprefix("more"))
    mixed = [*names * 2, *words, *template_sentences(emoji, 3000, SEED + number), *talk[3000 * number :][:3000]]
    return _lines(mixed, SEED + 10 * number)[:MORE_LINES]


def held_out_lines(emoji: Path, kind: str) -> list[Line]:
    """Evaluation clips in the two unseen voices: "names" (all everyday names) or "talk" (300 unseen sentences)."""
    if kind == "names":
        texts = everyday_names(emoji)
    else:
        talk = example_sentences()
        order = np.random.default_rng(SEED).permutation(len(talk))[: HELD_SENTENCES // 2]
        frames = template_sentences(emoji, HELD_SENTENCES // 2, 99_991)
        texts = [*(talk[i] for i in order), *frames]
    return [Line(text, Voice(name), 0, 0.0) for name in HELD_OUT for text in texts]
