"""Held-out figures of the speech head from cached features: recall of the right words, with baselines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

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


def resampled(features: Features, places: int = 16, trim: float = 0.3) -> Vectors:
    """Clips as `places` tokens interpolated over the part that is not quiet: the nearest neighbour's view of them."""
    found = []
    for row in range(len(features)):
        clip = features.clip(row).astype(np.float32)[:-4]
        moving = np.abs(np.diff(clip, axis=0)).mean(1)
        loud = np.flatnonzero(moving > trim * moving.max())
        clip = clip[loud[0] : loud[-1] + 2]
        at = np.linspace(0, len(clip) - 1, places)
        low = at.astype(int)
        high = np.minimum(low + 1, len(clip) - 1)
        part = (at - low)[:, None]
        found.append((clip[low] * (1 - part) + clip[high] * part).ravel())
    return np.stack(found)


def nearest_neighbour(train: Features, test: Features, names: Sequence[str]) -> dict[str, float]:
    """Recall of names when a clip takes the name of the training clip that is most like it."""
    rows = [i for i, text in enumerate(train.texts) if text in set(names)]
    place = {name: i for i, name in enumerate(names)}
    known = resampled(train)[rows]
    mean = known.mean(0)
    similar = unit(resampled(test) - mean) @ unit(known - mean).T
    scores = np.full((len(test), len(names)), -1.0, np.float32)
    for column, row in enumerate(rows):
        at = place[train.texts[row]]
        scores[:, at] = np.maximum(scores[:, at], similar[:, column])
    return recall(scores, np.array([place[t] for t in test.texts]))
