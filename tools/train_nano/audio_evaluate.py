"""Held-out figures of the speech head from cached features: recall of the right words, with baselines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from tools.train_nano.audio_encoder import TAIL
from tools.train_nano.audio_features import Features
from tools.train_nano.audio_head import SpeechHead

Vectors = NDArray[np.float32]


def unit(x: Vectors) -> Vectors:
    return x / (np.linalg.norm(x, axis=-1, keepdims=True) + 1e-9)


def recall(scores: Vectors, right: NDArray[np.int64]) -> dict[str, float]:
    """R@1 and R@10 in percent of the column `right[i]` in row i of `scores`; ties count against."""
    own = scores[np.arange(len(scores)), right][:, None]
    rank = (scores >= own).sum(1)
    return {"r1": round(100 * float((rank <= 1).mean()), 1), "r10": round(100 * float((rank <= 10).mean()), 1)}


@torch.inference_mode()
def head_vectors(head: SpeechHead, features: Features, rows: Sequence[int] | None = None) -> Vectors:
    """Unit vectors of clips, one clip a call, as in the graph."""
    found = []
    for row in range(len(features)) if rows is None else rows:
        tokens = torch.from_numpy(features.clip(row).astype(np.float32))[None]
        found.append(head(tokens, torch.ones(1, tokens.shape[1]))[0].numpy())
    return unit(np.stack(found))


def trimmed(audio: Vectors) -> Vectors:
    """The clip from its first to its last sound."""
    loud = np.flatnonzero(np.abs(audio) > 0.02 * np.abs(audio).max())
    return audio[loud[0] : loud[-1] + 1]


def resampled(tokens: Vectors, places: int = 16) -> Vectors:
    """Tokens of a trimmed clip [t, 384] as `places` interpolated ones, in a row: the nearest neighbour's view."""
    clip = tokens[: -TAIL // 4]
    at = np.linspace(0, len(clip) - 1, places)
    low = at.astype(int)
    high = np.minimum(low + 1, len(clip) - 1)
    part = (at - low)[:, None]
    return (clip[low] * (1 - part) + clip[high] * part).ravel()


def nearest_neighbour(
    known: Vectors, asked: Vectors, places: tuple[list[int], list[int]], names: int
) -> dict[str, float]:
    """Recall when a clip takes the name of the most similar known clip; `places` are the names of known and asked."""
    mean = known.mean(0)
    similar = unit(asked - mean) @ unit(known - mean).T
    scores = np.full((len(asked), names), -1.0, np.float32)
    for column, place in enumerate(places[0]):
        scores[:, place] = np.maximum(scores[:, place], similar[:, column])
    return recall(scores, np.array(places[1]))
