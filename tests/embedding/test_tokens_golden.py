"""Token ids against those of the reference's tokenizer and processor."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from embedding.catalog import CARDS
from embedding.tokenizer import load_tokenizer
from embedding.towers.gemma import GemmaTower, read_config
from embedding.types import Audio, Media, Role, Timings
from tests.golden import inputs

TESTS = Path(__file__).resolve().parent.parent
PACKAGE = TESTS / "fixtures" / "packages" / "gemma-tiny"
TEXT_CASES = json.loads((TESTS / "golden" / "tokens.json").read_text(encoding="utf-8"))["texts"]
PROMPTS = json.loads((TESTS / "golden" / "prompts.json").read_text(encoding="utf-8"))


class CountingSession:
    """Stands for a graph and gives a fixed number of feature rows."""

    def __init__(self, shapes, output="", rows=0):
        self.inputs = shapes
        self._answer = {output: np.ones((rows, 64), np.float32)}

    def run(self, feeds):
        return self._answer


def tower_with_rows(rows=0):
    config = read_config(PACKAGE)
    text = {"input_ids": (-1, -1), "attention_mask": (-1, -1), "image_features": (-1, 64), "audio_features": (-1, 64)}
    sessions = {
        "text": CountingSession(text),
        "vision": CountingSession({"pixel_values": (-1, -1, 768)}, "image_features", rows),
        "audio": CountingSession({"input_features": (-1, -1, 128)}, "audio_features", rows),
    }
    return GemmaTower(config, CARDS[0].prompts, sessions, load_tokenizer(PACKAGE, config.control_ids))


@pytest.mark.parametrize("case", TEXT_CASES, ids=lambda case: f"{case['role']}-{case['text'][:20]!r}-{case['title']}")
def test_ids_of_a_text_are_those_of_the_reference(case):
    media = Media(text=case["text"], title=case["title"])
    prepared = tower_with_rows().prepare(media, Role(case["role"]), Timings())
    assert list(prepared.ids) == case["ids"]


@pytest.mark.parametrize("case", TEXT_CASES[::2], ids=lambda case: repr(case["text"][:20]))
def test_the_converted_tokenizer_gives_the_same_ids(case):
    """Some packages bring their tokenizer as an OpenVINO graph too; it parses control words, which must not show."""
    config = read_config(PACKAGE)
    encode = load_tokenizer(TESTS / "fixtures" / "converted_tokenizer", config.control_ids)
    from_file = load_tokenizer(PACKAGE, config.control_ids)
    for text in (case["text"], f"{case['text']}\n\n<|audio|>", CARDS[0].prompts.query + case["text"]):
        assert encode(text) == from_file(text)


def test_typed_control_words_stay_plain_text():
    typed = next(case for case in TEXT_CASES if "<|image|>" in case["text"])
    config = read_config(PACKAGE)
    assert config.control_ids.isdisjoint(typed["ids"][1:-1])
    assert typed["ids"][0] == config.bos
    assert typed["ids"][-1] == config.eos


@pytest.mark.parametrize("name", PROMPTS)
def test_ids_around_media_are_those_of_the_reference(name):
    *role, kind, which = name.split("_")
    expected = PROMPTS[name]
    config = read_config(PACKAGE)
    rows = sum(token in (config.image, config.audio) for token in expected)
    text = inputs.TOGETHER if role else None
    if kind == "picture":
        media = Media(text=text, image=inputs.picture(*inputs.PICTURES[which]))
    else:
        media = Media(text=text, audio=Audio(inputs.sound(*inputs.SOUNDS[which]), inputs.RATE))
    prepared = tower_with_rows(rows).prepare(media, Role(role[0] if role else "document"), Timings())
    assert list(prepared.ids) == expected
