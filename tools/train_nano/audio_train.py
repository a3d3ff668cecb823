"""Training of the speech head on cached features, against vectors of the words that are spoken."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tools.train_nano.audio_features import Features
from tools.train_nano.audio_head import HeadShape, SpeechHead

Vectors = NDArray[np.float32]
SHARPNESS = 20.0
CHOICES = 3000  # wrong answers of a step, drawn anew from all texts
LONGEST = 160  # tokens of a training clip: 6.4 s


def padded(features: Features, rows: Sequence[int], rng: np.random.Generator | None) -> tuple[Tensor, Tensor]:
    """Tokens [b, t, 384] and mask [b, t] with t even; with `rng`, the start is shifted and tokens are hidden."""
    clips = []
    for row in rows:
        clip = features.clip(row)
        if rng is not None:
            clip = clip[int(rng.integers(0, 3)) :]
        clips.append(clip[:LONGEST])
    length = max(len(c) for c in clips)
    length += length % 2
    tokens = np.zeros((len(clips), length, clips[0].shape[1]), np.float32)
    seen = np.zeros((len(clips), length), np.float32)
    for i, clip in enumerate(clips):
        tokens[i, : len(clip)] = clip
        seen[i, : len(clip) // 2 * 2] = 1.0
        if rng is not None and rng.random() < 0.5:
            start, width = int(rng.integers(len(clip))), int(rng.integers(1, 4))
            tokens[i, start : start + width] = tokens[i].mean(0)
    return torch.from_numpy(tokens), torch.from_numpy(seen)


def batches(lengths: NDArray[np.int64], rng: np.random.Generator, tokens: int = 9000) -> list[NDArray[np.int64]]:
    """Indices of one epoch: neighbours in length, random within pools and in order, about `tokens` each."""
    order = rng.permutation(len(lengths))
    found = []
    for pool in np.array_split(order, max(1, len(order) // 4000)):
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        start = 0
        while start < len(pool):
            size = max(16, int(tokens // max(8, min(LONGEST, lengths[pool[min(start + 100, len(pool) - 1)]]))))
            found.append(pool[start : start + size])
            start += size
    return [found[i] for i in rng.permutation(len(found))]


def set_scale(head: SpeechHead, features: Features) -> None:
    """Mean and deviation of tokens, from a sample."""
    sample = features.tokens[:: max(1, len(features.tokens) // 50_000)].astype(np.float32)
    head.mean.copy_(torch.from_numpy(sample.mean(0)))
    head.scale.copy_(torch.from_numpy(1.0 / (sample.std(0) + 1e-3)))


def loss_of(given: Tensor, goal: Tensor, place: Tensor, bank: Tensor) -> Tensor:
    """1 - cosine to the words' vector, plus the choice of the words among a bank of texts."""
    given = functional.normalize(given.float(), dim=-1)
    choice = functional.cross_entropy(given @ bank.T * SHARPNESS, place, label_smoothing=0.05)
    return 2.0 * (1.0 - (given * goal).sum(-1)).mean() + 0.5 * choice


def move_space(head: SpeechHead, old: Vectors, new: Vectors) -> float:
    """Turn a head from one text space into another by the linear map of `old` [n, dim] onto `new`; mean cosine of it.

    A text tower trained anew has other axes; this keeps what the head knows, so that training only has to refine it.
    """
    turn = np.linalg.lstsq(old.astype(np.float64), new.astype(np.float64), rcond=None)[0]
    matrix = torch.from_numpy(turn.T.astype(np.float32))
    with torch.no_grad():
        for layer in (head.memory2, head.moment2):
            layer.weight.copy_(matrix @ layer.weight)
            layer.bias.copy_(matrix @ layer.bias)
    moved = old @ turn
    return float(((moved * new).sum(1) / np.linalg.norm(moved, axis=1)).mean())


def train_speech(
    features: Features, vectors: Callable[[list[str]], Vectors], start: Path | None, minutes: float, rate: float = 1e-3
) -> SpeechHead:
    """Train for so many minutes of wall time; `start` is a saved head to go on from. Cosine decay to nothing."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    unique = list(dict.fromkeys(features.texts))
    place_of = {text: i for i, text in enumerate(unique)}
    bank = torch.from_numpy(vectors(unique))
    places = np.array([place_of[t] for t in features.texts])
    head = SpeechHead(HeadShape(dim=bank.shape[1]))
    if start is not None and start.is_file():
        head.load_state_dict(torch.load(start, weights_only=True))
    else:
        set_scale(head, features)
    optimiser = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=0.02, betas=(0.9, 0.98))
    lengths = np.diff(features.offsets)
    began, steps, shown = time.monotonic(), 0, 0.0
    head.train()
    while True:
        for rows in batches(lengths, rng):
            done = (time.monotonic() - began) / (60 * minutes)
            if done >= 1.0:
                print(f"trained {steps} steps on {len(features)} clips", flush=True)
                return head.eval()
            for group in optimiser.param_groups:
                group["lr"] = rate * min(1.0, (steps + 1) / 100) * 0.5 * (1 + np.cos(np.pi * done))
            tokens, seen = padded(features, [int(r) for r in rows], rng)
            others = rng.choice(len(unique), min(CHOICES, len(unique)), replace=False)
            words, place = np.unique(np.concatenate([places[rows], others]), return_inverse=True)
            choices, place = bank[torch.from_numpy(words)], torch.from_numpy(place[: len(rows)])
            with torch.autocast("cpu", dtype=torch.bfloat16):
                given = head(tokens, seen)
            loss = loss_of(given, choices[place], place, choices)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimiser.step()
            steps += 1
            shown = loss.item() if steps == 1 else 0.98 * shown + 0.02 * loss.item()
            if steps % 100 == 0:
                print(f"{done:.2f} step {steps} loss {shown:.3f}", flush=True)
