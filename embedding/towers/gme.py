"""GME: a picture's patches and a chat prompt through a causal language model, whose last token is the vector.

References: GME's own code over transformers' Qwen2VLModel (instruction, prompt, plain 1-D positions, last token) and
Qwen2VLImageProcessor. A package says all of itself in `gme_openvino_config.json` (see embedding/export/README.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from embedding.errors import InferenceError, MediaError, PackageError
from embedding.tokenizer import load_tokenizer
from embedding.towers import DYNAMIC, Session
from embedding.towers.qwen_images import VisualSettings, pad_patches, patchify
from embedding.types import Media, Modality, Prompts, Role, Timings, Vectors

Encode = Callable[[str], list[int]]

CONFIG = "gme_openvino_config.json"
MOST_TOKENS = 1280
POSITIONS = "1d"


@dataclass(frozen=True)
class GmeIds:
    """Token ids of the prompt. `control` are all ids that the text of a person must never become."""

    end: int = 151_643
    turn_begin: int = 151_644
    turn_end: int = 151_645
    vision_begin: int = 151_652
    vision_end: int = 151_653
    image: int = 151_655
    control: frozenset[int] = frozenset(range(151_643, 151_657))


@dataclass(frozen=True)
class GmeConfig:
    """What a package says of itself: vector size, most tokens of a prompt, ids, and how pictures are cut."""

    dim: int = 1536
    max_tokens: int = 1800
    ids: GmeIds = field(default_factory=GmeIds)
    images: VisualSettings = field(default_factory=VisualSettings)


def read_config(folder: Path) -> GmeConfig:
    """Read the package's config; PackageError when it is absent, damaged, or made for other positions."""
    path = folder / CONFIG
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        ids, images = content["ids"], content["images"]
        config = GmeConfig(
            dim=int(content["dim"]),
            max_tokens=int(content["max_tokens"]),
            ids=GmeIds(**{**ids, "control": frozenset(ids["control"])}),
            images=VisualSettings(**images),
        )
        positions = content["positions"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PackageError(f"{CONFIG} of the package {folder.name} is missing or damaged: {error!r}.") from error
    if positions != POSITIONS:
        raise PackageError(f"{folder.name} was made for {positions} positions; this program runs {POSITIONS} ones.")
    return config


@dataclass(frozen=True, eq=False)
class Prepared:
    """One input ready for the language model: ids with placeholders, the rows that replace them, what was cut."""

    ids: tuple[int, ...]
    image_features: NDArray[np.float32] | None = None
    note: str = ""

    @property
    def soft_tokens(self) -> int:
        """Visual tokens."""
        return 0 if self.image_features is None else len(self.image_features)

    @property
    def length(self) -> int:
        """Tokens in all."""
        return len(self.ids)


def open_tower(
    folder: Path, prompts: Prompts, sessions: Mapping[str, Session], image_budget: int | None = None
) -> GmeTower:
    """The family's stages over a package: its config, its tokenizer, and sessions named as its graphs."""
    config = _with_budget(read_config(folder), image_budget)
    return GmeTower(config, prompts, sessions, load_tokenizer(folder, config.ids.control))


def static_shapes(
    folder: Path, graph: str, tokens: int | None, image_budget: int | None = None
) -> dict[str, tuple[int, ...]]:
    """Fixed sizes: one picture of the most patches that any has. Texts keep their length."""
    if graph != "vision":
        return {}
    images = _with_budget(read_config(folder), image_budget).images
    return {"pixel_values": (images.most_patches, images.patch_width), "pixel_position_ids": (images.most_patches, 2)}


def _with_budget(config: GmeConfig, image_budget: int | None) -> GmeConfig:
    if image_budget is None:
        return config
    if not config.images.min_tokens <= image_budget <= MOST_TOKENS:
        raise PackageError(f"A picture has {config.images.min_tokens} to {MOST_TOKENS} visual tokens with this model.")
    return replace(config, images=replace(config.images, max_tokens=image_budget))


class GmeTower:
    """The family's stages, over sessions named `vision`, `embeddings` and `language`."""

    def __init__(self, config: GmeConfig, prompts: Prompts, sessions: Mapping[str, Session], encode: Encode) -> None:
        self.config = config
        self._instructions = {Role.QUERY: prompts.query, Role.DOCUMENT: prompts.document}
        self._sessions = sessions
        self._encode = encode
        self.dim = config.dim
        self.modalities = frozenset({Modality.TEXT, Modality.IMAGE} if "vision" in sessions else {Modality.TEXT})
        self.max_seconds = 0.0
        longest = max(len(self._head(text)) + len(self._user("", 0)) for text in self._instructions.values())
        self.max_tokens = config.max_tokens - longest - len(self._tail())
        self.preprocessing = f"{POSITIONS}-{config.images.max_tokens}"

    def prepare(self, media: Media, role: Role, timings: Timings) -> Prepared:
        """Run the vision tower and build the ids; a text too long is cut before the prompt is built, with a note.

        A picture without words has the instruction of documents in both roles, so that it finds itself at 1.
        """
        rows = self._image_rows(media.image, timings) if media.image is not None else None
        with timings.stage("tokenize"):
            text = media.text or ""
            if media.title and role is Role.DOCUMENT:
                text = f"{media.title} {text}".strip()
            alone = rows is not None and not text
            head = self._head(self._instructions[Role.DOCUMENT if alone else role])
            user, note = self._fitted(text, 0 if rows is None else len(rows), len(head))
        return Prepared((*head, *user, *self._tail()), rows, note)

    def pool(self, batch: Sequence[Prepared]) -> Vectors:
        """Vectors [n, dim] of inputs that are all text, or of a single input with a picture; not yet normalised."""
        length = max(item.length for item in batch)
        ids = np.full((len(batch), length), self.config.ids.end, dtype=np.int64)
        mask = np.zeros((len(batch), length), dtype=np.int64)
        for row, item in enumerate(batch):
            ids[row, : item.length] = item.ids
            mask[row, : item.length] = 1
        embeds = np.asarray(self._sessions["embeddings"].run({"input_ids": ids})["inputs_embeds"], dtype=np.float32)
        for row, item in enumerate(batch):
            if item.image_features is not None:
                embeds[row, ids[row] == self.config.ids.image] = item.image_features
        found = self._sessions["language"].run({"inputs_embeds": embeds, "attention_mask": mask})
        return np.asarray(found["sentence_embedding"], dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        """Tokens of a bare text, without its prompt."""
        return len(self._encode(text))

    def _head(self, instruction: str) -> list[int]:
        """The system turn, which is always there."""
        ids = self.config.ids
        return [ids.turn_begin, *self._encode(f"system\n{instruction}"), ids.turn_end, *self._encode("\n")]

    def _user(self, text: str, rows: int) -> list[int]:
        """The user's turn up to its end; a picture stands before the text and splits the string for the tokenizer."""
        ids = self.config.ids
        if not rows:
            return [ids.turn_begin, *self._encode(f"user\n{text}")]
        picture = [ids.vision_begin, *[ids.image] * rows, ids.vision_end]
        return [ids.turn_begin, *self._encode("user\n"), *picture, *self._encode(text)]

    def _tail(self) -> list[int]:
        """The end of the user's turn, the empty answer, and the token whose state is the vector."""
        ids = self.config.ids
        answer = self._encode("assistant\n")
        return [ids.turn_end, *self._encode("\n"), ids.turn_begin, *answer, ids.end]

    def _fitted(self, text: str, rows: int, head: int) -> tuple[list[int], str]:
        """The user's turn, its text cut to what the prompt has room for, and what to say of it."""
        user = self._user(text, rows)
        room = self.config.max_tokens - head - len(self._tail())
        if len(user) <= room:
            return user, ""
        frame = len(self._user("", rows))
        if frame > room:
            raise MediaError(f"has {rows} visual tokens and the model reads {room} at once; lower the cap")
        return user[:room], f"the first {room - frame} of {len(user) - frame} tokens of the text were used"

    def _image_rows(self, image: Image.Image, timings: Timings) -> NDArray[np.float32]:
        if "vision" not in self._sessions:
            raise MediaError("cannot be embedded: this model has no vision tower")
        with timings.stage("preprocess"):
            patches, places = patchify(image, self.config.images)
            count = len(patches) // self.config.images.merge_size**2
            static = self._sessions["vision"].inputs["pixel_values"][0]
            if static != DYNAMIC:
                patches, places = pad_patches(patches, places, static)
        with timings.stage("vision"):
            found = self._sessions["vision"].run({"pixel_values": patches, "pixel_position_ids": places})
        rows = np.asarray(found["image_features"], dtype=np.float32)[:count]
        if not len(rows) or not np.isfinite(rows).all():
            raise InferenceError("The vision tower gave no finite features.")
        return rows
