"""Clips -> cached encoder features, in shards that are skipped when they exist.

A shard is an .npz with `tokens` float16 [sum, 384] (25 a second, pairs of encoder tokens averaged), `offsets` [n + 1],
`stats` float16 [n, 3840] (mean and deviation over time of five layers) and `texts`. Only features are kept, no audio.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tools.train_nano.audio_augment import augment
from tools.train_nano.audio_encoder import LAYERS, WIDTH, SpeechEncoder
from tools.train_nano.audio_mel import BINS, MAX_SAMPLES, contract_mel
from tools.train_nano.audio_voices import Voice, speak

STATS = (LAYERS + 1) * 2 * WIDTH
SHARD = 400
Audio = NDArray[np.float32]


def pooled(states: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """States of all layers -> (tokens at 25 a second [1, t, 384], statistics [1, 3840])."""
    last = states[-1]
    even = last[:, : last.shape[1] // 2 * 2]
    tokens = even.reshape(1, -1, 2, WIDTH).mean(2)
    parts = []
    for state in states:
        mean = state.mean(1)
        deviation = torch.sqrt((state - mean.unsqueeze(1)).pow(2).mean(1) + 1e-6)
        parts += [mean, deviation]
    return tokens, torch.cat(parts, 1)


class FeatureGraph(nn.Module):
    """Mel and mask -> pooled tokens and statistics: what the head is trained on."""

    def __init__(self, encoder: SpeechEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, mel: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return pooled(self.encoder(mel, mask))


def compile_features(encoder: SpeechEncoder, threads: int = 1) -> Callable[[Audio], tuple[Audio, Audio]]:
    """A function audio -> (tokens [t, 384], stats [3840]) on OpenVINO, f32."""
    example = (torch.zeros(1, 120, BINS), torch.ones(1, 120, dtype=torch.bool))
    model = ov.convert_model(FeatureGraph(encoder), example_input=example)
    model.reshape({model.inputs[0]: [1, -1, BINS], model.inputs[1]: [1, -1]})
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    request = ov.Core().compile_model(model, "CPU", settings).create_infer_request()

    def run(audio: Audio) -> tuple[Audio, Audio]:
        mel, mask = contract_mel(audio[:MAX_SAMPLES])
        request.infer([mel, mask])
        return request.get_output_tensor(0).data[0].copy(), request.get_output_tensor(1).data[0].copy()

    return run


@dataclass(frozen=True)
class Line:
    """One clip to make: what is said, by whom, and the seed of its room."""

    text: str
    voice: Voice
    seed: int
    strength: float = 1.0


def say(line: Line, joe: Path) -> Audio:
    return augment(np.random.default_rng(line.seed), speak(line.text, line.voice, joe), line.strength)


def write_shard(path: Path, items: Iterable[tuple[str, Audio]], run: Callable[[Audio], tuple[Audio, Audio]]) -> None:
    """Encode (text, audio) pairs into one shard file, written whole or not at all."""
    tokens, stats, texts = [], [], []
    for text, audio in items:
        token, stat = run(audio)
        tokens.append(token.astype(np.float16))
        stats.append(stat.astype(np.float16))
        texts.append(text)
    offsets = np.cumsum([0, *(len(t) for t in tokens)])
    part = path.with_suffix(".part.npz")
    np.savez(part, tokens=np.concatenate(tokens), offsets=offsets, stats=np.stack(stats), texts=np.array(texts))
    part.rename(path)


def encode_lines(
    lines: Sequence[Line], folder: Path, joe: Path, run: Callable[[Audio], tuple[Audio, Audio]], part: tuple[int, int]
) -> None:
    """Make every shard of `lines` that is missing; `part` (i, n) takes shard i of every n, for several processes."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = folder / "plan.json"
    plan.write_text(json.dumps([asdict(line) for line in lines]), "utf-8")
    for number, start in enumerate(range(0, len(lines), SHARD)):
        path = folder / f"{number:04d}.npz"
        if number % part[1] == part[0] and not path.exists():
            write_shard(path, ((x.text, say(x, joe)) for x in lines[start : start + SHARD]), run)


@dataclass
class Features:
    """Clips in memory: tokens of clip i are `tokens[offsets[i]:offsets[i + 1]]`."""

    tokens: NDArray[np.float16]
    offsets: NDArray[np.int64]
    stats: NDArray[np.float16]
    texts: list[str]

    def __len__(self) -> int:
        return len(self.texts)

    def clip(self, i: int) -> NDArray[np.float16]:
        return self.tokens[self.offsets[i] : self.offsets[i + 1]]


def load_features(folders: Sequence[Path]) -> Features:
    """All finished shards of the folders, joined."""
    shards: list[Any] = [np.load(p) for f in folders for p in sorted(f.glob("[0-9]*.npz")) if ".part" not in p.name]
    offsets, base = [np.zeros(1, np.int64)], 0
    for shard in shards:
        offsets.append(shard["offsets"][1:] + base)
        base = int(offsets[-1][-1])
    return Features(
        np.concatenate([s["tokens"] for s in shards]), np.concatenate(offsets),
        np.concatenate([s["stats"] for s in shards]), [str(t) for s in shards for t in s["texts"]],
    )  # fmt: skip
