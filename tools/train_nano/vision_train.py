"""Training of the vision head on cached features, against the vectors of the final text tower."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tools.train_nano.kinds import class_kinds
from tools.train_nano.pictures import Picture, training_pictures
from tools.train_nano.strings import class_names, class_synonyms
from tools.train_nano.text import text_vectors
from tools.train_nano.vision_features import load_features
from tools.train_nano.vision_model import Backbone, Head

# Texts to unit vectors of the space that the head is trained into.
Read = Callable[[Sequence[str]], NDArray[np.float32]]

VIEWS = 4
BATCH, TEMPERATURE, RATE, NOISE = 512, 0.05, 1e-3, 0.3
# Share of a batch that is the classifier's own rows, so that the head keeps what the backbone knows of photos.
PHOTO_SHARE = 0.3
# Share of the everyday word above a class in the class's vector: "dog" finds every breed.
KIND_WEIGHT = 0.8


def name_vectors(names: Sequence[Sequence[str]], read: Read) -> Tensor:
    """One unit vector for each list of names: the mean of its names and of "a photo of" the first."""
    flat = [text for group in names for text in (*group, f"a photo of a {group[0]}")]
    vectors = iter(torch.from_numpy(read(flat)))
    sums = [torch.stack([next(vectors) for _ in range(len(group) + 1)]).mean(0) for group in names]
    return functional.normalize(torch.stack(sums), dim=-1)


def class_vectors(work: Path, read: Read = text_vectors) -> Tensor:
    """Vectors [1000, dim] of the ImageNet classes: of their names, and of the everyday word above, where one is."""
    names = class_names(work)
    own, kinds = name_vectors(class_synonyms(work, names), read), class_kinds(work, names)
    above = torch.from_numpy(read([kind or name for kind, name in zip(kinds, names, strict=True)]))
    weight = torch.tensor([[KIND_WEIGHT if kind else 0.0] for kind in kinds])
    return functional.normalize(own + weight * above, dim=-1)


def _plain(name: str) -> str:
    return re.sub(r"\s+", " ", name.lower()).strip()


def train(work: Path, minutes: float = 5.0, read: Read = text_vectors, folder: str = "vision") -> Head:
    """Train for so many minutes on the views that are there; saves `head.pt` in that folder of the work."""
    torch.manual_seed(0)
    classifier, classes = Backbone(work).classifier, class_vectors(work, read)
    data = _lessons(work, classifier[0], classes, read)
    head = Head(classifier, classes)
    optimizer = torch.optim.AdamW(head.parameters(), lr=RATE, weight_decay=0.05)
    draw, start, step, shown = np.random.default_rng(0), time.monotonic(), 0, 0.0
    head.train()
    while (done := (time.monotonic() - start) / (60 * minutes)) < 1:
        optimizer.param_groups[0]["lr"] = RATE * min(1.0, (step + 1) / 50) * (0.02 + 0.98 * (1 - done))
        loss = _loss(head, data, draw)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step, shown = step + 1, 0.98 * shown + 0.02 * float(loss.detach())
        if step % 200 == 0:
            print(f"vision step {step} done {done:.2f} loss {shown:.3f}", flush=True)
    (work / folder).mkdir(exist_ok=True)
    torch.save({"state": head.state_dict(), "dim": classes.shape[1]}, work / folder / "head.pt")
    return head.eval()


@dataclass(frozen=True)
class Lessons:
    """Unit features of pictures with the number of their name in the bank and their goal; rows of classes, likewise."""

    features: Tensor
    label: Tensor
    goal: Tensor
    rows: Tensor
    bank: Tensor

    @property
    def names(self) -> int:
        """How many names stand in the bank before the classes."""
        return len(self.bank) - len(self.rows)


def _lessons(work: Path, weight: Tensor, classes: Tensor, read: Read) -> Lessons:
    pictures = training_pictures(work)
    names = sorted({_plain(word) for item in pictures for word in (item.name, *item.tags)})
    place = {name: number for number, name in enumerate(names)}
    bank = torch.cat([torch.from_numpy(read(names)), classes])
    features, owner = _all_views(work, len(pictures))
    label = torch.tensor([place[_plain(item.name)] for item in pictures])
    goal = _soft_targets(pictures, place, bank)
    rows = functional.normalize(weight.clamp(min=0), dim=-1)
    return Lessons(functional.normalize(features, dim=-1), label[owner], goal[owner], rows, bank)


def _loss(head: Head, data: Lessons, draw: np.random.Generator) -> Tensor:
    """One batch of pictures, and of classes mixed with the features of a drawing, as clutter around what is meant."""
    photos = int(BATCH * PHOTO_SHARE)
    chosen = torch.from_numpy(draw.integers(0, len(data.features), BATCH - photos))
    photo = torch.from_numpy(draw.integers(0, len(data.rows), photos))
    share = 0.4 + 0.6 * torch.rand(photos, 1)
    clutter = data.features[torch.from_numpy(draw.integers(0, len(data.features), photos))]
    mixed = functional.normalize(share * data.rows[photo] + (1 - share) * clutter, dim=-1)
    x = torch.cat([data.features[chosen], mixed])
    given = head.reading(x * (1 + NOISE * torch.randn_like(x)))
    label = torch.cat([data.label[chosen], data.names + photo])
    goal = torch.cat([data.goal[chosen], data.bank[data.names :][photo]])
    scores = given @ data.bank.T / TEMPERATURE
    alike = torch.softmax(goal @ data.bank.T / TEMPERATURE, -1)  # names of like meaning are not pushed away
    contrast = 0.9 * functional.cross_entropy(scores, label) + 0.1 * functional.cross_entropy(scores, alike)
    return contrast + 2 * (1 - (given * goal).sum(-1)).mean()


def load_head(work: Path, folder: str = "vision") -> Head:
    """The last trained head, in evaluation mode."""
    saved = torch.load(work / folder / "head.pt", weights_only=True)
    head = Head(Backbone(work).classifier, torch.zeros(1000, saved["dim"]))
    head.load_state_dict(saved["state"])
    return head.eval()


def _all_views(work: Path, count: int) -> tuple[Tensor, Tensor]:
    """Features of every view that is there [n, 1280], and the picture that each row shows."""
    views = [load_features(work, view)[:count] for view in range(VIEWS)]
    owners = [np.arange(len(view)) for view in views]
    features, owner = np.concatenate(views), np.concatenate(owners)
    known = np.linalg.norm(features, axis=1) > 0
    return torch.from_numpy(features[known]), torch.from_numpy(owner[known])


def _soft_targets(pictures: Sequence[Picture], place: dict[str, int], bank: Tensor) -> Tensor:
    """For each picture the unit mean of its name (two parts) and its tags (one part in all)."""
    goals = []
    for item in pictures:
        goal = 2 * bank[place[_plain(item.name)]]
        if item.tags:
            goal = goal + bank[torch.tensor([place[_plain(tag)] for tag in item.tags])].mean(0)
        goals.append(goal)
    return functional.normalize(torch.stack(goals), dim=-1)
