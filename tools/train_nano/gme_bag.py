"""The start of nano-gme: a weighted mean of token vectors, fitted in a minute, and written into the language model.

Two layers of the model are set to hand that mean to the last token, one half of the numbers each; all other layers
start at nothing. Training then goes on from a model that already reads words.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLTextModel

from tools.train_nano.gme_model import DIM, HEADS, KEY_HEADS, NORM
from tools.train_nano.teacher import batches, padded
from tools.train_nano.text_train import distance

BATCH_TOKENS = 16_384
MEAN_LAYERS = (1, 2)


class Bag(nn.Module):
    """Token ids [b, s] and mask to the mean of the tokens' unit vectors, weighted by a score linear in them."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, DIM)
        self.score = nn.Parameter(torch.zeros(DIM))
        nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, ids: Tensor, seen: Tensor) -> Tensor:
        rows = functional.normalize(self.table(ids), dim=-1)
        weights = torch.softmax((rows @ self.score) - 1e4 * (1 - seen), dim=-1)
        return (weights[..., None] * rows).sum(1)


def fit_bag(rows: Sequence[list[int]], goal: NDArray[np.float32], vocabulary: int, minutes: float) -> Bag:
    """Fit on texts of at most 32 tokens with the goal of each."""
    torch.manual_seed(0)
    bag, draw = Bag(vocabulary), np.random.default_rng(0)
    short = [number for number, row in enumerate(rows) if 0 < len(row) <= 32]
    lots = [[short[n] for n in lot] for lot in batches([len(rows[number]) for number in short], BATCH_TOKENS)]
    lots = [piece for lot in lots for piece in (lot[start : start + 1024] for start in range(0, len(lot), 1024))]
    optimizer = torch.optim.Adam(bag.parameters(), lr=1e-2)
    start, step = time.monotonic(), 0
    while (done := (time.monotonic() - start) / (60 * minutes)) < 1:
        optimizer.param_groups[0]["lr"] = 1e-2 * (0.05 + 0.95 * (1 - done))
        lot = lots[draw.integers(len(lots))]
        loss = distance(bag(*padded([rows[number] for number in lot])), torch.from_numpy(goal[lot]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 100 == 0:
            print(f"bag step {step} done {done:.2f} loss {float(loss.detach()):.4f}", flush=True)
    return bag.eval()


@torch.no_grad()
def write_bag(bag: Bag, model: Qwen2VLTextModel) -> None:
    """Set the model so that its last token gets the bag's mean over all tokens it sees."""
    model.embed_tokens.weight.copy_(functional.normalize(bag.table.weight, dim=-1) * NORM)
    side = DIM // HEADS
    for layer in model.layers:
        nn.init.normal_(layer.self_attn.o_proj.weight, std=0.002)
        nn.init.normal_(layer.mlp.down_proj.weight, std=0.002)
    slow = side // 2 - 1  # the pair of numbers that positions turn least
    for half, number in enumerate(MEAN_LAYERS):
        attention = model.layers[number].self_attn
        attention.v_proj.weight.zero_()
        attention.o_proj.weight.zero_()
        # The norm before the layer gives rows of length sqrt(DIM); the score was fitted on unit rows.
        scale = (DIM**-0.5 * side**0.5) ** 0.5
        for key in range(KEY_HEADS):
            first = half * KEY_HEADS * side + key * side
            attention.k_proj.weight[key * side + slow] = bag.score * scale
            attention.v_proj.weight[key * side : (key + 1) * side, first : first + side] = torch.eye(side)
            for head in range(key * HEADS // KEY_HEADS, (key + 1) * HEADS // KEY_HEADS):
                attention.q_proj.weight[head * side + slow] = 0.0
                attention.q_proj.bias[head * side + slow] = scale
                share = KEY_HEADS / HEADS * NORM * DIM**-0.5
                attention.o_proj.weight[first : first + side, head * side : (head + 1) * side] = torch.eye(side) * share
