"""Distillation of the text tower: cut the teacher down, then teach what is left to give the teacher's vectors."""

from __future__ import annotations

import json
import math
import random
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from tools.train_nano.strings import corpus, essentials
from tools.train_nano.teacher import batches, cached_vectors, load_encoder, padded, tokenizer_json
from tools.train_nano.text_model import Encoder, EncoderShape, Ids, TextTower, mean

DIM = 256
Floats = NDArray[np.float32]
Pair = tuple[list[int], Floats]
KEPT_LAYERS = (0, 2, 4, 5)
INNER, RANK, WORDS = 1152, 256, 11_000
BATCH_TOKENS, LONGEST_ROW = 2560, 192
CONTROL = ("<pad>", "<eos>", "<bos>", "<image>", "<boi>", "<eoi>", "<audio>", "<boa>", "<eoa>", "<video>")
UNKNOWN = "[UNK]"
# Both prompts become one hidden token: the teacher knows no roles, so they carry nothing, and cost nothing this way.
PROMPT_MARK = "\ue000"
PROMPTS = r"^(task: [a-z ]+ \| query: |title: none \| text: )"


def build_tokenizer(work: Path, texts: list[str]) -> tuple[dict[str, object], list[int]]:
    """The package's tokenizer file, and for each of its ids the teacher's id it starts from.

    Kept are all single characters, the words that count in the corpus, and the most frequent words of English (the
    teacher's vocabulary lists its words by frequency).
    """
    content = tokenizer_json(work)
    vocabulary: dict[str, int] = content["model"]["vocab"]  # type: ignore[index]
    teacher = Tokenizer.from_str(json.dumps(content))
    teacher.no_truncation()
    teacher.no_padding()
    counts = Counter(token for entry in teacher.encode_batch(texts, add_special_tokens=False) for token in entry.tokens)
    ranked = sorted(vocabulary, key=vocabulary.__getitem__)
    single = [word for word in ranked if len(word.removeprefix("##")) == 1 and ord(word[-1]) < 0x250]
    words = [word for word in ranked[1000:] if word.isascii()]
    score = {word: math.log1p(counts[word]) + 3.5 / math.log(place + 3) * 2 for place, word in enumerate(words)}
    best = sorted(words, key=lambda word: -score[word])
    kept = list(dict.fromkeys([*single, *best]))[: WORDS - len(CONTROL) - 2]
    listing = [*CONTROL, PROMPT_MARK, UNKNOWN, *kept]
    same = {"<eos>": "[SEP]", "<bos>": "[CLS]", "<pad>": "[PAD]"}
    origin = [vocabulary.get(same.get(word, word), vocabulary[UNKNOWN]) for word in listing]
    content["model"]["vocab"] = {word: number for number, word in enumerate(listing)}  # type: ignore[index]
    replace = {"type": "Replace", "pattern": {"Regex": PROMPTS}, "content": f"{PROMPT_MARK} "}
    content["normalizer"] = {"type": "Sequence", "normalizers": [content["normalizer"], replace]}
    content.update(truncation=None, padding=None, post_processor=None)
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    content["added_tokens"] = [{"id": number, "content": word, **plain} for number, word in enumerate(CONTROL)]
    return content, origin


@torch.no_grad()
def start_tower(teacher: Encoder, origin: list[int], probe: tuple[Tensor, Tensor], shape: EncoderShape) -> TextTower:
    """A tower with the teacher's kept layers, its most active feed-forward units and its token table at low rank."""
    tower = TextTower(shape, DIM)
    encoder = tower.encoder
    encoder.positions.load_state_dict(teacher.positions.state_dict())
    encoder.norm.load_state_dict(teacher.norm.state_dict())
    table = teacher.tokens.weight[torch.tensor(origin)]
    left, values, right = torch.linalg.svd(table, full_matrices=False)
    encoder.tokens.weight.copy_(left[:, : shape.rank] * values[: shape.rank].sqrt())
    encoder.widen.weight.copy_((right[: shape.rank] * values[: shape.rank, None].sqrt()).T)
    activity = _activity(teacher, probe)
    for layer, number in zip(encoder.layers, KEPT_LAYERS, strict=True):
        given = teacher.layers[number]
        for name in ("qkv", "out", "norm1", "norm2"):
            getattr(layer, name).load_state_dict(getattr(given, name).state_dict())
        units = activity[number].topk(shape.inner).indices
        layer.up.weight.copy_(given.up.weight[units])
        layer.up.bias.copy_(given.up.bias[units])
        layer.down.weight.copy_(given.down.weight[:, units])
        layer.down.bias.copy_(given.down.bias)
    return tower


def _activity(teacher: Encoder, probe: tuple[Tensor, Tensor]) -> list[Tensor]:
    """How much each feed-forward unit of each layer of the teacher moves the states of the probe texts."""
    found: list[Tensor] = []

    def note(layer: torch.nn.Module, _: object, value: Tensor) -> None:
        found.append(value.clamp(min=-0.2).sub(value.mean((0, 1))).square().mean((0, 1)).sqrt())

    hooks = [layer.up.register_forward_hook(note) for layer in teacher.layers]
    teacher(*probe)
    for hook in hooks:
        hook.remove()
    return [move * layer.down.weight.norm(dim=0) for move, layer in zip(found, teacher.layers, strict=True)]


def principal(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean [384] and the first DIM principal directions [384, DIM] of the teacher's vectors, strongest first."""
    middle = vectors.mean(0)
    _, directions = np.linalg.eigh(np.cov((vectors - middle).T))
    return middle, np.ascontiguousarray(directions[:, ::-1][:, :DIM]).astype(np.float32)


def targets(vectors: Floats, space: tuple[Floats, Floats]) -> Floats:
    """Teacher vectors in the shared space: centred, turned to principal directions, unit length."""
    turned = (vectors - space[0]) @ space[1]
    return turned / np.linalg.norm(turned, axis=1, keepdims=True)


def fit_projection(tower: TextTower, rows: list[list[int]], goal: NDArray[np.float32]) -> None:
    """Set the projection by ridge regression, so that training starts from the best linear reading."""
    states = []
    with torch.inference_mode():
        for start in range(0, len(rows), 64):
            ids, mask = padded(rows[start : start + 64])
            with torch.autocast("cpu", dtype=torch.bfloat16):
                states.append(mean(tower.encoder(ids, mask).float(), mask).numpy())
    x = np.concatenate(states).astype(np.float64)
    middle, goal_middle = x.mean(0), goal.mean(0)
    gram = (x - middle).T @ (x - middle)
    gram += 1e-3 * np.trace(gram) / len(gram) * np.eye(len(gram))
    weights = np.linalg.solve(gram, (x - middle).T @ (goal - goal_middle))
    with torch.no_grad():
        tower.project.weight.copy_(torch.from_numpy(weights.T.astype(np.float32)))
        tower.project.bias.copy_(torch.from_numpy((goal_middle - middle @ weights).astype(np.float32)))


def distance(given: Tensor, goal: Tensor) -> Tensor:
    """1 - cosine, plus 0.3 of the contrast against the goals of the batch."""
    given = functional.normalize(given, dim=-1)
    contrast = functional.cross_entropy(given @ goal.T * 20.0, torch.arange(len(goal)))
    return (1.0 - (given * goal).sum(-1)).mean() + 0.3 * contrast


def train(work: Path, minutes: float, most: int = 100_000, rate: float = 4e-4) -> None:
    """Distil for so many minutes on the essentials, three times each, and the first `most` strings of the corpus.

    Goes on from the last checkpoint when there is one.
    """
    torch.manual_seed(0)
    folder = work / "text"
    folder.mkdir(parents=True, exist_ok=True)
    needed, texts = essentials(work), corpus(work)[:most]
    goal = np.concatenate([cached_vectors(work, "essentials", needed), cached_vectors(work, "corpus", texts)])
    texts = [*needed, *texts]
    if not (folder / "space.npz").is_file():
        middle, directions = principal(goal)
        np.savez(folder / "space.npz", middle=middle, directions=directions)
    with np.load(folder / "space.npz") as space:
        goal = targets(goal, (space["middle"], space["directions"]))
    if not (folder / "tokenizer.json").is_file():
        content, origin = build_tokenizer(work, texts)
        (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        (folder / "origin.json").write_text(json.dumps(origin), encoding="utf-8")
    rows = token_rows(folder, texts)
    tower = load_tower(folder) if (folder / "tower.pt").is_file() else _fresh(work, folder, rows, goal)
    order = [*range(len(needed)), *range(len(needed)), *range(len(rows))]
    data = [(rows[index], goal[index]) for index in order if len(rows[index]) <= LONGEST_ROW]
    _run(tower, data, folder, minutes, rate)


def token_rows(folder: Path, texts: list[str]) -> list[list[int]]:
    """Ids of texts with begin and end, at most 400."""
    tokenizer, ids = Tokenizer.from_file(str(folder / "tokenizer.json")), Ids()
    tokenizer.encode_special_tokens = True
    entries = tokenizer.encode_batch(texts, add_special_tokens=False)
    return [[ids.bos, *entry.ids[:400], ids.eos] for entry in entries]


def load_tower(folder: Path) -> TextTower:
    """The last saved tower, in evaluation mode."""
    saved = torch.load(folder / "tower.pt", weights_only=True)
    tower = TextTower(EncoderShape(**saved["shape"]), DIM)
    tower.load_state_dict(saved["state"])
    return tower.eval()


def _fresh(work: Path, folder: Path, rows: list[list[int]], goal: NDArray[np.float32]) -> TextTower:
    teacher = load_encoder(work)
    origin = json.loads((folder / "origin.json").read_text(encoding="utf-8"))
    shape = EncoderShape(len(origin), len(KEPT_LAYERS), INNER, RANK)
    probe_ids, probe_mask = padded([row for row in rows[:2000] if 8 <= len(row) <= 16][:256])
    tower = start_tower(teacher, origin, (torch.tensor(origin)[probe_ids], probe_mask), shape)
    short = [index for index, row in enumerate(rows[:10_000]) if len(row) <= 24][:6000]
    fit_projection(tower, [rows[index] for index in short], goal[short])
    return tower


def _save(tower: TextTower, folder: Path) -> None:
    partial = folder / "tower.part"
    torch.save({"shape": vars(tower.encoder.shape), "state": tower.state_dict()}, partial)
    partial.replace(folder / "tower.pt")


def _epoch(data: list[Pair], draw: random.Random) -> list[list[Pair]]:
    """Batches of one pass: neighbours in length within random pools, in random order."""
    order = draw.sample(data, len(data))
    found = []
    for start in range(0, len(order), 8192):
        pool = order[start : start + 8192]
        found += [[pool[n] for n in batch] for batch in batches([len(row) for row, _ in pool], BATCH_TOKENS)]
    draw.shuffle(found)
    return found


def _run(tower: TextTower, data: list[Pair], folder: Path, minutes: float, rate: float) -> None:
    tower.train()
    optimizer = torch.optim.AdamW(tower.parameters(), lr=rate, weight_decay=0.01)
    start, step, shown, draw = time.monotonic(), 0, 0.0, random.Random(0)
    while True:
        for batch in _epoch(data, draw):
            done = (time.monotonic() - start) / (60 * minutes)
            if done >= 1:
                _save(tower.eval(), folder)
                return
            optimizer.param_groups[0]["lr"] = rate * min(1.0, (step + 1) / 50) * (0.02 + 0.98 * (1 - done))
            loss = _step(tower, optimizer, batch)
            step, shown = step + 1, loss if step == 0 else 0.98 * shown + 0.02 * loss
            if step % 50 == 0:
                print(f"text step {step} done {done:.2f} loss {shown:.4f}", flush=True)
            if step % 200 == 0:
                _save(tower, folder)


def _step(tower: TextTower, optimizer: torch.optim.Optimizer, batch: list[Pair]) -> float:
    ids, mask = padded([row for row, _ in batch])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        given = tower(ids, mask)
    loss = distance(given.float(), torch.from_numpy(np.stack([goal for _, goal in batch])))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(tower.parameters(), 1.0)
    optimizer.step()
    return float(loss.detach())
