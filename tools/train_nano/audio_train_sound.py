"""Training of the sound head: what makes a sound that is not speech, and whether it is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from tools.train_nano.audio_features import Features
from tools.train_nano.audio_head import SoundHead

Vectors = NDArray[np.float32]
SHARPNESS = 15.0
TOO_NEAR = 0.6  # cosine above which another sound's words are not counted as wrong


def label_words(label: str) -> list[str]:
    """The words of "name|more, words", the name first."""
    return [word.strip() for word in label.replace("|", ",").split(",") if word.strip()]


def label_vectors(labels: Sequence[str], vectors: Callable[[list[str]], Vectors]) -> Vectors:
    """One unit vector for each label: its name counts as much as all its other words together."""
    rows = []
    for label in labels:
        found = vectors(label_words(label))
        row = found[0] + (found[1:].mean(0) if len(found) > 1 else 0.0)
        rows.append(row / np.linalg.norm(row))
    return np.stack(rows).astype(np.float32)


def train_sound(
    sounds: Features, speech: Features, vectors: Callable[[list[str]], Vectors], names: list[str], steps: int = 700
) -> SoundHead:
    """Sounds against the vectors of their names, with everyday names as wrong answers; speech teaches the gate."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    labels = list(dict.fromkeys(sounds.texts))
    goal_of = torch.from_numpy(label_vectors(labels, vectors))
    bank = torch.cat([goal_of, torch.from_numpy(vectors(names))])
    near = goal_of @ bank.T > TOO_NEAR
    near[torch.arange(len(labels)), torch.arange(len(labels))] = False
    place = torch.tensor([labels.index(t) for t in sounds.texts])
    # each label the same weight, however many recordings it has
    share = np.array([1.0 / np.sqrt(sounds.texts.count(t)) for t in sounds.texts])
    share /= share.sum()
    heard = torch.from_numpy(sounds.stats.astype(np.float32))
    spoken = torch.from_numpy(speech.stats[:: max(1, len(speech) // 6000)].astype(np.float32))
    head = SoundHead(heard.shape[1], bank.shape[1])
    head.mean.copy_(heard.mean(0))
    head.scale.copy_(1.0 / (heard.std(0) + 1e-3))
    optimiser = torch.optim.AdamW(head.parameters(), lr=1e-3, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    head.train()
    for _ in range(steps):
        rows = torch.from_numpy(rng.choice(len(heard), 96, p=share))
        talk = spoken[torch.from_numpy(rng.integers(len(spoken), size=64))]
        batch = torch.cat([heard[rows], talk])
        given, gate = head(batch + torch.randn_like(batch) * 0.25 / head.scale)
        given = functional.normalize(given[:96], dim=-1)
        at = place[rows]
        score = (given @ bank.T * SHARPNESS).masked_fill(near[at], -1e4)
        truth = torch.cat([torch.ones(96), torch.zeros(64)]) * 0.98 + 0.01
        loss = functional.cross_entropy(score, at, label_smoothing=0.05) + (1 - (given * goal_of[at]).sum(1)).mean()
        loss = loss + functional.binary_cross_entropy(gate[:, 0], truth)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return head.eval()
