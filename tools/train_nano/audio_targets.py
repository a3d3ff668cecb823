"""Where words lie: the vectors that the audio tower is trained towards, cached by text."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


def _teacher(work: Path, texts: list[str]) -> Vectors:
    """The text tower's own teacher in the shared space: a stand-in until the tower is trained."""
    from tools.train_nano.teacher import teacher_vectors
    from tools.train_nano.text_train import targets

    with np.load(work / "text" / "space.npz") as space:
        found: Vectors = targets(teacher_vectors(work, texts), (space["middle"], space["directions"]))
    return found


def _tower(work: Path, texts: list[str]) -> Vectors:
    """The trained text tower. Prompts are hidden from it, so query and document vectors are the same."""
    import torch
    from torch.nn import functional

    from tools.train_nano.teacher import batches, padded
    from tools.train_nano.text_train import load_tower, token_rows

    tower, rows = load_tower(work / "text"), token_rows(work / "text", texts)
    found = np.zeros((len(rows), tower.project.out_features), np.float32)
    with torch.inference_mode():
        for batch in batches([len(row) for row in rows], 4096):
            ids, mask = padded([rows[index] for index in batch])
            found[batch] = functional.normalize(tower(ids, mask), dim=-1).numpy()
    return found


def vectors_of(work: Path, space: str) -> Callable[[list[str]], Vectors]:
    """Texts -> unit vectors [n, dim] in the space "teacher" or "tower" (the weights as they are now)."""
    state = work / "text" / ("tower.pt" if space == "tower" else "space.npz")
    stamp = hashlib.sha256(state.read_bytes()).hexdigest()[:12]
    path = work / "audio" / "targets" / f"{space}-{stamp}.npz"
    compute = _tower if space == "tower" else _teacher

    def run(texts: list[str]) -> Vectors:
        known: dict[str, Vectors] = {}
        if path.is_file():
            stored = np.load(path)
            known = dict(zip((str(t) for t in stored["texts"]), stored["vectors"], strict=True))
        missing = [t for t in dict.fromkeys(texts) if t not in known]
        if missing:
            known |= dict(zip(missing, compute(work, missing), strict=True))
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, texts=np.array(list(known)), vectors=np.stack(list(known.values())).astype(np.float32))
        return np.stack([known[t] for t in texts]).astype(np.float32)

    return run
