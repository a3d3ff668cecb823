"""EmbeddingGemma 2: three towers and the tokens between them (reference: transformers, embedding_gemma2 and gemma4).

A picture or a sound goes through its tower first and becomes rows of features; the text tower reads token ids in which
a placeholder stands for every row. Nothing here knows a device: sessions are asked by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedding.errors import InferenceError, MediaError, PackageError
from embedding.tokenizer import load_tokenizer
from embedding.towers import DYNAMIC, Session
from embedding.towers.images import ImageSettings, pad_patches, patchify
from embedding.towers.sounds import AudioSettings, log_mel
from embedding.types import Audio, Media, Modality, Prompts, Role, Timings, Vectors

Encode = Callable[[str], list[int]]

MOST_SOFT_TOKENS = 1120

TOWERS: dict[Modality, str] = {Modality.TEXT: "text", Modality.IMAGE: "vision", Modality.AUDIO: "audio"}


@dataclass(frozen=True)
class GemmaConfig:
    """What a package says of itself: token ids, context in tokens, vector size, and how media are cut."""

    dim: int = 768
    max_tokens: int = 8192
    bos: int = 2
    eos: int = 1
    pad: int = 0
    image: int = 258_880
    begin_image: int = 255_999
    end_image: int = 258_882
    audio: int = 258_881
    begin_audio: int = 256_000
    end_audio: int = 258_883
    video: int = 258_884
    images: ImageSettings = field(default_factory=ImageSettings)
    sounds: AudioSettings = field(default_factory=AudioSettings)

    @property
    def control_ids(self) -> frozenset[int]:
        """Ids that the text of a person must never become."""
        return frozenset(
            {self.bos, self.eos, self.pad, self.image, self.begin_image, self.end_image}
            | {self.audio, self.begin_audio, self.end_audio, self.video}
        )


def read_config(folder: Path) -> GemmaConfig:
    """Read both config files in the layout of transformers; what is absent has the reference's default."""
    config, processor = _read_json(folder / "config.json"), _read_json(folder / "processor_config.json")
    text, default = config.get("text_config", {}), GemmaConfig()
    eos = text.get("eos_token_id", config.get("eos_token_id", default.eos))
    return GemmaConfig(
        dim=text.get("embedding_dim", default.dim),
        # The reference's config gives the size of the rotary table, not the context the model was trained for.
        max_tokens=min(text.get("max_position_embeddings", default.max_tokens), default.max_tokens),
        bos=text.get("bos_token_id", default.bos),
        eos=eos[0] if isinstance(eos, list) else eos,
        pad=text.get("pad_token_id", default.pad),
        image=config.get("image_token_id", default.image),
        begin_image=config.get("boi_token_id", default.begin_image),
        end_image=config.get("eoi_token_id", default.end_image),
        audio=config.get("audio_token_id", default.audio),
        begin_audio=config.get("boa_token_id", default.begin_audio),
        end_audio=config.get("eoa_token_index", default.end_audio),
        video=config.get("video_token_id", default.video),
        images=_image_settings(processor.get("image_processor", {})),
        sounds=_audio_settings(processor.get("feature_extractor", {})),
    )


def _image_settings(values: Mapping[str, Any]) -> ImageSettings:
    known = ("patch_size", "max_soft_tokens", "pooling_kernel_size")
    return ImageSettings(**{name: values[name] for name in known if name in values})


def _audio_settings(values: Mapping[str, Any]) -> AudioSettings:
    names = {
        "sampling_rate": "rate",
        "feature_size": "mels",
        "frame_length": "frame",
        "hop_length": "hop",
        "fft_length": "fft",
        "min_frequency": "low",
        "max_frequency": "high",
        "mel_floor": "floor",
    }
    return AudioSettings(**{ours: values[theirs] for theirs, ours in names.items() if theirs in values})


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PackageError(f"{path.name} of the package {path.parent.name} is damaged: {error}.") from error
    return content if isinstance(content, dict) else {}


@dataclass(frozen=True, eq=False)
class Prepared:
    """One input ready for the text tower: ids with placeholders, and the rows that replace them (or none)."""

    ids: tuple[int, ...]
    image_features: NDArray[np.float32] | None = None
    audio_features: NDArray[np.float32] | None = None

    @property
    def soft_tokens(self) -> int:
        """How many rows its picture and sound became."""
        return sum(len(rows) for rows in (self.image_features, self.audio_features) if rows is not None)

    @property
    def length(self) -> int:
        """Tokens in all."""
        return len(self.ids)

    note: str = ""


def open_tower(
    folder: Path, prompts: Prompts, sessions: Mapping[str, Session], image_budget: int | None = None
) -> GemmaTower:
    """The family's stages over a package: its config, its tokenizer, and sessions named as its graphs."""
    config = _with_budget(read_config(folder), image_budget)
    return GemmaTower(config, prompts, sessions, load_tokenizer(folder, config.control_ids))


def static_shapes(
    folder: Path, graph: str, tokens: int | None, image_budget: int | None = None
) -> dict[str, tuple[int, ...]]:
    """Fixed sizes: one text of so many tokens and no media, or one picture of the whole budget of patches."""
    config = _with_budget(read_config(folder), image_budget)
    if graph == "vision":
        budget, width = config.images.max_patches, 3 * config.images.patch_size**2
        return {"pixel_values": (1, budget, width), "pixel_position_ids": (1, budget, 2)}
    if graph == "text" and tokens is not None:
        return {"input_ids": (1, tokens), "attention_mask": (1, tokens)}
    return {}


def _with_budget(config: GemmaConfig, image_budget: int | None) -> GemmaConfig:
    if image_budget is None:
        return config
    if not 1 <= image_budget <= MOST_SOFT_TOKENS:
        raise PackageError(
            f"A picture has 1 to {MOST_SOFT_TOKENS} soft tokens (the model knows 70, 140, 280, 560, 1120)."
        )
    return replace(config, images=replace(config.images, max_soft_tokens=image_budget))


class GemmaTower:
    """The family's stages, over sessions named `text`, `vision` and `audio` (the latter two may be absent)."""

    def __init__(self, config: GemmaConfig, prompts: Prompts, sessions: Mapping[str, Session], encode: Encode) -> None:
        self.config = config
        self._prompts = prompts
        self._sessions = sessions
        self._encode = encode
        shapes = sessions["text"].inputs
        self.dim = config.dim
        self.modalities = frozenset(modality for modality, tower in TOWERS.items() if tower in sessions)
        self.max_seconds = config.sounds.max_seconds
        self.max_tokens = config.max_tokens - len(encode(self._prefix(Role.DOCUMENT, None))) - 2
        self.preprocessing = str(config.images.max_soft_tokens)
        self._widths = {
            name: shapes[name][-1] for name in ("image_features", "audio_features", "video_features") if name in shapes
        }

    def prepare(self, media: Media, role: Role, timings: Timings) -> Prepared:
        """Run the towers of its media and build its ids. Raises MediaError when the whole does not fit the context."""
        image = self._image_rows(media, timings) if media.image is not None else None
        audio = self._audio_rows(media.audio, timings) if media.audio is not None else None
        with timings.stage("tokenize"):
            ids = self._ids(media, role, 0 if image is None else len(image), 0 if audio is None else len(audio))
        if len(ids) > self.config.max_tokens:
            raise MediaError(f"has {len(ids)} tokens and the model reads {self.config.max_tokens} at once; split it")
        return Prepared(tuple(ids), image, audio)

    def pool(self, batch: Sequence[Prepared]) -> Vectors:
        """Vectors [n, dim] of inputs that are all text, or of a single input with media; not yet normalised."""
        length = max(len(item.ids) for item in batch)
        ids = np.full((len(batch), length), self.config.pad, dtype=np.int64)
        mask = np.zeros((len(batch), length), dtype=np.int64)
        for row, item in enumerate(batch):
            ids[row, : len(item.ids)] = item.ids
            mask[row, : len(item.ids)] = 1
        feeds: dict[str, NDArray[Any]] = {"input_ids": ids, "attention_mask": mask}
        rows = {"image_features": batch[0].image_features, "audio_features": batch[0].audio_features}
        for name, width in self._widths.items():
            found = rows.get(name)
            feeds[name] = np.zeros((0, width), np.float32) if found is None else found
        return np.asarray(self._sessions["text"].run(feeds)["sentence_embedding"], dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        """Tokens of a bare text, without prompt, begin and end."""
        return len(self._encode(text))

    def _prefix(self, role: Role, title: str | None) -> str:
        if role is Role.QUERY:
            return self._prompts.query
        return self._prompts.document.replace("{title}", title or "none")

    def _ids(self, media: Media, role: Role, image_rows: int, audio_rows: int) -> list[int]:
        """Begin, prompt, media, text, end. Media alone have no prompt; a bare text is tokenised with its prompt."""
        config = self.config
        soft: list[int] = []
        if media.image is not None:
            soft += [config.begin_image, *[config.image] * image_rows, config.end_image]
        if media.audio is not None:
            soft += [config.begin_audio, *[config.audio] * audio_rows, config.end_audio]
        if media.text is None:
            return [config.bos, *soft, config.eos]
        prefix = self._prefix(role, media.title)
        if not soft:
            return [config.bos, *self._encode(prefix + media.text), config.eos]
        return [config.bos, *self._encode(prefix), *soft, *self._encode(media.text), config.eos]

    def _image_rows(self, media: Media, timings: Timings) -> NDArray[np.float32]:
        session = self._session("vision")
        with timings.stage("preprocess"):
            assert media.image is not None
            patches, positions = patchify(media.image, self.config.images)
            static = session.inputs["pixel_values"][1]
            if static != DYNAMIC:
                patches, positions = pad_patches(patches, positions, static)
                if patches.shape[1] != static:
                    raise PackageError(
                        f"The vision graph reads {static} patches and the image budget gives {patches.shape[1]}."
                    )
        with timings.stage("vision"):
            rows = session.run({"pixel_values": patches, "pixel_position_ids": positions})["image_features"]
        return _rows(rows, "vision")

    def _audio_rows(self, audio: Audio, timings: Timings) -> NDArray[np.float32]:
        session = self._session("audio")
        settings = self.config.sounds
        if audio.rate != settings.rate:
            raise MediaError(f"has {audio.rate} Hz and the model reads {settings.rate} Hz; decode it with decode_audio")
        if audio.seconds > settings.max_seconds + 1e-6:
            raise MediaError(
                f"lasts {audio.seconds:.1f} s and the model hears {settings.max_seconds:.0f} s at once; split it"
            )
        with timings.stage("preprocess"):
            features, mask = log_mel(audio.samples, settings)
            frames = session.inputs["input_features"][1]
            if frames != DYNAMIC:
                features = np.pad(features, ((0, 0), (0, frames - features.shape[1]), (0, 0)))
                mask = np.pad(mask, ((0, 0), (0, frames - mask.shape[1])))
        with timings.stage("audio"):
            rows = session.run({"input_features": features, "input_features_mask": mask})["audio_features"]
        return _rows(rows, "audio")

    def _session(self, name: str) -> Session:
        if name not in self._sessions:
            raise MediaError(f"cannot be embedded: this model has no {name} tower")
        return self._sessions[name]


def _rows(rows: NDArray[Any], tower: str) -> NDArray[np.float32]:
    flat = np.asarray(rows, dtype=np.float32).reshape(-1, rows.shape[-1])
    if not len(flat) or not np.isfinite(flat).all():
        raise InferenceError(f"The {tower} tower gave no finite features.")
    return flat
