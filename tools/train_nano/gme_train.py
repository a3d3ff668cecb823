"""Distillation of nano-gme's language model on texts, pictures that are only vectors, and both together.

A picture is one soft token that carries a unit vector of the space; it must come out as that vector, and with words as
the sum of both, so that image and text in one prompt mean both.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLTextModel

from tools.train_nano.gme_bag import fit_bag, write_bag
from tools.train_nano.gme_model import ROW, Segment, load_model, new_model, packed, run, save_model
from tools.train_nano.gme_tokenizer import DOCUMENT, OTHER, QUERY, Frame, make_tokenizer
from tools.train_nano.strings import corpus, essentials
from tools.train_nano.teacher import cached_vectors
from tools.train_nano.text_train import distance, principal, targets

LONGEST_TEXT = 200  # tokens
ROWS = 8  # packed rows of a batch
PICTURES, BOTH = 0.12, 0.18  # shares of the prompts
GROUP = 64  # columns that share a scale at 4 bits
QUANTISED_FROM, QUANTISED_SHARE = 0.6, 0.75


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts as ids, their goals [n, DIM], and the order in which they are seen, the important ones more often."""

    rows: list[list[int]]
    goals: NDArray[np.float32]
    order: list[int]
    frame: Frame


def prepare(work: Path, most: int = 100_000) -> Texts:
    """Tokenizer, space and goals; what lies in `gme/` is kept."""
    folder = work / "gme"
    folder.mkdir(parents=True, exist_ok=True)
    needed, plain = essentials(work), corpus(work)[:most]
    path = folder / "tokenizer.json"
    if not path.is_file():
        make_tokenizer(plain, needed).save(str(path))
    frame = Frame(path)
    ids = range(frame.tokenizer.get_vocab_size(with_added_tokens=False))
    words = sorted({word for word in map(str.strip, (frame.tokenizer.decode([n]) for n in ids)) if len(word) > 1})
    lists = {"essentials": needed, "corpus": plain, "gme-words": words}
    vectors = np.concatenate([cached_vectors(work, name, texts) for name, texts in lists.items()])
    if not (folder / "space.npz").is_file():
        middle, directions = principal(vectors[: len(needed) + len(plain)])
        np.savez(folder / "space.npz", middle=middle, directions=directions)
    with np.load(folder / "space.npz") as space:
        goals = targets(vectors, (space["middle"], space["directions"]))
    rows = frame.texts([*needed, *plain, *words])
    order = [*range(len(needed)), *range(len(needed)), *range(len(rows))]
    return Texts(rows, goals, [n for n in order if 0 < len(rows[n]) <= LONGEST_TEXT], frame)


def train(work: Path, minutes: float, rate: float = 1.5e-3, bag_minutes: float = 1.5) -> Qwen2VLTextModel:
    """Distil for so many minutes, from the fitted mean of token vectors or from the last saved model."""
    torch.manual_seed(0)
    path = work / "gme" / "language.pt"
    texts = prepare(work)
    if path.is_file():
        model = load_model(path)
    else:
        model = new_model(texts.frame.tokenizer.get_vocab_size())
        write_bag(fit_bag(texts.rows, texts.goals, model.config.vocab_size, bag_minutes), model)
        save_model(model, path)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    draw, start, step, shown = random.Random(0), time.monotonic(), 0, 0.0
    for head, rows, goal in _batches(texts, draw):
        done = (time.monotonic() - start) / (60 * minutes)
        if done >= 1:
            break
        optimizer.param_groups[0]["lr"] = rate * min(1.0, (step + 1) / 100) * (0.02 + 0.98 * (1 - done))
        coarse = done > QUANTISED_FROM and draw.random() < QUANTISED_SHARE
        loss = _step(model, optimizer, (head, rows, texts.frame.image, goal), coarse)
        step, shown = step + 1, loss if step == 0 else 0.98 * shown + 0.02 * loss
        if step % 50 == 0:
            print(f"gme step {step} done {done:.2f} loss {shown:.4f}", flush=True)
        if step % 200 == 0:
            save_model(model, path)
    save_model(model, path)
    return model.eval()


def _step(
    model: Qwen2VLTextModel,
    optimizer: torch.optim.Optimizer,
    batch: tuple[list[int], list[list[Segment]], int, NDArray[np.float32]],
    coarse: bool,
) -> float:
    """One step; a `coarse` one takes the gradient where the weights are rounded to 4 bits."""
    head, rows, image, goal = batch
    fine = _round_weights(model) if coarse else {}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        given = run(model, head, rows, image)
    loss = distance(given, torch.from_numpy(goal))
    optimizer.zero_grad()
    loss.backward()
    for layer, weight in fine.items():
        layer.weight.data = weight
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())


@torch.no_grad()
def _round_weights(model: Qwen2VLTextModel) -> dict[nn.Linear, Tensor]:
    """Round every matrix to 4 bits, asymmetric, by groups; gives back the true ones."""
    fine = {layer: layer.weight.data for layer in model.layers.modules() if isinstance(layer, nn.Linear)}
    for layer, weight in fine.items():
        groups = weight.reshape(len(weight), -1, GROUP)
        low, high = groups.amin(-1, keepdim=True), groups.amax(-1, keepdim=True)
        scale = (high - low).clamp(min=1e-8) / 15
        zero = torch.round(-low / scale)
        steps = torch.clamp(torch.round(groups / scale) + zero, 0, 15)
        layer.weight.data = ((steps - zero) * scale).reshape(weight.shape)
    return fine


def _batches(texts: Texts, draw: random.Random) -> Iterator[tuple[list[int], list[list[Segment]], NDArray[np.float32]]]:
    """Endless batches: the head that all prompts share, packed rows, goals [n, DIM]."""
    noise = np.random.default_rng(0)
    stream = _numbers(texts, draw)
    while True:
        head = texts.frame.head(_instruction(draw))
        segments, goals, used = [], [], 0
        while used < ROWS * (ROW - len(head)) * 0.93:
            segment, goal = _prompt(texts, next(stream), draw, noise)
            segments.append(segment)
            goals.append(goal)
            used += len(segment.ids)
        yield head, packed(segments, len(head)), np.stack(goals)


def _numbers(texts: Texts, draw: random.Random) -> Iterator[int]:
    while True:
        yield from draw.sample(texts.order, len(texts.order))


def _instruction(draw: random.Random) -> str:
    place = draw.random()
    return DOCUMENT if place < 0.45 else QUERY if place < 0.8 else draw.choice(OTHER)


def _prompt(
    texts: Texts, number: int, draw: random.Random, noise: np.random.Generator
) -> tuple[Segment, NDArray[np.float32]]:
    """A text, or a picture whose vector is another text's with noise, alone or before the text."""
    kind, frame = draw.random(), texts.frame
    if kind >= PICTURES + BOTH:
        return Segment([*texts.rows[number], *frame.tail]), texts.goals[number]
    other = number if kind < PICTURES else draw.choice(texts.order)
    soft = unit(texts.goals[other] + draw.uniform(0.0, 1.0) * unit(noise.standard_normal(texts.goals.shape[1])))
    if kind < PICTURES:
        return Segment([*frame.picture, *frame.tail], soft), soft
    return Segment([*frame.picture, *texts.rows[number], *frame.tail], soft), unit(soft + texts.goals[number])


def unit(vector: NDArray[np.float32] | Sequence[float]) -> NDArray[np.float32]:
    """The vector at length 1."""
    return np.asarray(vector / np.linalg.norm(vector), np.float32)
