"""Vectors of strings by the current best text tower, for whoever trains against it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from tools.train_nano.teacher import batches, padded
from tools.train_nano.text_train import DIM, load_tower, token_rows

WORK = Path(os.environ.get("TRIPTYCH_NANO_WORK", Path(__file__).with_name("work")))
__all__ = ["DIM", "WORK", "text_vectors"]


@torch.inference_mode()
def text_vectors(strings: Sequence[str], role: str = "document") -> NDArray[np.float32]:
    """Unit vectors float32 [n, DIM]. The role changes nothing: prompts are hidden from the encoder."""
    del role
    folder = WORK / "text"
    tower, rows = load_tower(folder), token_rows(folder, list(strings))
    vectors = np.zeros((len(rows), DIM), np.float32)
    for batch in batches([len(row) for row in rows], 4096):
        vectors[batch] = functional.normalize(tower(*padded([rows[index] for index in batch])), dim=-1).numpy()
    return vectors
