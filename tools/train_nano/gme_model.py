"""The language model of nano-gme, Qwen2-VL's own in small, and how many short prompts run through it at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from transformers import Qwen2VLConfig
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLTextModel

from tools.train_nano.gme_tokenizer import DOCUMENT, Frame

DIM, LAYERS, HEADS, KEY_HEADS, INNER = 256, 4, 4, 2, 512
ROW = 320  # tokens of a packed row
# Length of a row of the token table, and of a picture's soft token.
NORM = 4.0
SECTIONS = [8, 12, 12]


@dataclass(frozen=True, eq=False)
class Segment:
    """One prompt without its head: ids up to the pooled token, and the unit vector of its picture when it has one."""

    ids: list[int]
    soft: NDArray[np.float32] | None = None


def new_model(vocabulary: int) -> Qwen2VLTextModel:
    """The model with random weights."""
    text = {
        "vocab_size": vocabulary, "hidden_size": DIM, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS, "rms_norm_eps": 1e-6,
        "max_position_embeddings": 2048, "bos_token_id": None, "eos_token_id": None,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": SECTIONS},
    }  # fmt: skip
    config = Qwen2VLConfig(text_config=text).text_config
    config._attn_implementation = "sdpa"
    return Qwen2VLTextModel(config)


def save_model(model: Qwen2VLTextModel, path: Path) -> None:
    """Write the weights, whole or not at all."""
    partial = path.with_suffix(".part")
    torch.save(model.state_dict(), partial)
    partial.replace(path)


def load_model(path: Path) -> Qwen2VLTextModel:
    """The saved model, in evaluation mode."""
    state = torch.load(path, weights_only=True)
    model = new_model(len(state["embed_tokens.weight"]))
    model.load_state_dict(state)
    return model.eval()


def packed(segments: Iterable[Segment], head: int, row: int = ROW) -> list[list[Segment]]:
    """Rows of segments that fit behind a head of so many tokens, in order; a longer one has a row of its own."""
    rows: list[list[Segment]] = []
    used = row
    for segment in segments:
        length = len(segment.ids)
        if used + length > row or not rows:
            rows.append([])
            used = head
        rows[-1].append(segment)
        used += length
    return rows


def run(model: Qwen2VLTextModel, head: Sequence[int], rows: Sequence[Sequence[Segment]], image: int) -> Tensor:
    """Unit vectors [n, DIM] of all segments in order; each sees the common head and itself, as if it were alone."""
    length = max(len(head) + sum(len(segment.ids) for segment in row) for row in rows)
    ids = torch.zeros(len(rows), length, dtype=torch.int64)
    owner, places = torch.full_like(ids, -1), torch.zeros_like(ids)
    ids[:, : len(head)], owner[:, : len(head)] = torch.tensor(head), 0
    places[:, : len(head)] = torch.arange(len(head))
    last, soft = [], []
    for number, row in enumerate(rows):
        start = len(head)
        for place, segment in enumerate(row, start=1):
            end = start + len(segment.ids)
            ids[number, start:end], owner[number, start:end] = torch.tensor(segment.ids), place
            places[number, start:end] = torch.arange(len(head), len(head) + end - start)
            last.append((number, end - 1))
            if segment.soft is not None:
                soft.append((number, start + segment.ids.index(image), segment.soft))
            start = end
    states = model.embed_tokens(ids)
    if soft:
        where = torch.tensor([place[:2] for place in soft])
        pictures = torch.from_numpy(np.stack([place[2] for place in soft])) * NORM
        states = states.index_put((where[:, 0], where[:, 1]), pictures.to(states.dtype))
    same = (owner[:, :, None] == owner[:, None, :]) | (owner[:, None, :] == 0)
    seen = (same & torch.ones(length, length, dtype=torch.bool).tril())[:, None]
    turns = model.rotary_emb(states, places.expand(3, -1, -1))
    for layer in model.layers:
        states = layer(states, attention_mask=seen, position_embeddings=turns)
    ends = torch.tensor(last)
    return functional.normalize(model.norm(states[ends[:, 0], ends[:, 1]]).float(), dim=-1)


@torch.inference_mode()
def text_vectors(
    model: Qwen2VLTextModel, frame: Frame, texts: Sequence[str], instruction: str = DOCUMENT
) -> NDArray[np.float32]:
    """Unit vectors [n, DIM] of texts under one instruction."""
    return vectors(model, frame, [Segment([*ids, *frame.tail]) for ids in frame.texts(texts)], instruction)


@torch.inference_mode()
def vectors(
    model: Qwen2VLTextModel, frame: Frame, segments: Sequence[Segment], instruction: str = DOCUMENT
) -> NDArray[np.float32]:
    """Unit vectors [n, DIM] of segments under one instruction."""
    head = frame.head(instruction)
    order = sorted(range(len(segments)), key=lambda number: len(segments[number].ids))
    rows = packed((segments[number] for number in order), len(head))
    found = np.zeros((len(segments), DIM), np.float32)
    done = 0
    for start in range(0, len(rows), 8):
        part = run(model, head, rows[start : start + 8], frame.image).numpy()
        found[order[done : done + len(part)]] = part
        done += len(part)
    return found
