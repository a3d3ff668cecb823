"""From a file to what a model embeds: read and hash, decode, split. Nothing here writes, and no lock is held."""

from __future__ import annotations

import hashlib
import io
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from PIL import Image

from embedding.errors import MediaError
from embedding.media import Limits, decode_audio, decode_image, decode_text, sniff
from embedding.types import Audio, Media, Modality
from index.rows import Entry, Part
from index.segment import WINDOW_SECONDS, Passage, passages, windows
from index.types import Encoder, Kind, Segment, shown

_KNOWN = "text (.txt, .md), pictures and sounds"


@dataclass(frozen=True)
class Source:
    """The bytes of a file as they were at one moment, with their hash; `path` is in bytes of the file system."""

    path: bytes
    data: bytes
    sha256: str

    @property
    def name(self) -> str:
        """File name that can be printed."""
        return shown(os.fsdecode(os.path.basename(self.path)))


@dataclass(frozen=True)
class Draft:
    """A file ready for the model: its entry, its parts and, in parallel, the media of the parts."""

    entry: Entry
    parts: tuple[Part, ...]
    media: tuple[Media, ...]
    picture: Image.Image | None = None


def read(path: bytes, limits: Limits) -> Source:
    """Read a file once and hash what was read. Raises MediaError saying why it is not read."""
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > limits.max_bytes:
                raise MediaError(f"has {size / 1e6:,.0f} MB, more than the limit of {limits.max_bytes / 1e6:,.0f} MB")
            data = stream.read(size + 1)  # not the limit: a buffer of that size would be made for every file
    except OSError as error:
        raise MediaError(f"cannot be read: {(error.strerror or str(error)).lower()}") from error
    if not data:
        raise MediaError("is empty (0 bytes)")
    if len(data) != size:
        raise MediaError("is being written while it is read; add it when that is done")
    return Source(path, data, hashlib.sha256(data).hexdigest())


def draft(source: Source, encoder: Encoder, limits: Limits) -> Draft:
    """Decode and split a file. Raises MediaError: of no known kind, damaged, or a kind that the model does not read."""
    modality = sniff(os.fsdecode(source.path), source.data[:64])
    if modality is None:
        raise MediaError(f"is of a kind that is not indexed; {_KNOWN} are")
    kind = Kind.of(modality)
    require(encoder, modality)
    entry = Entry(kind, source.name, source.path, False, source.sha256, len(source.data))
    if kind is Kind.IMAGE:
        picture = decode_image(source.data, limits)
        return picture_draft(replace(entry, note=_frames_note(source.data)), picture)
    if kind is Kind.AUDIO:
        return sound_draft(entry, decode_audio(source.data, limits), encoder)
    return text_draft(entry, decode_text(source.data, limits), encoder)


def require(encoder: Encoder, *modalities: Modality) -> None:
    """MediaError when the model lacks one of the modalities."""
    missing = sorted(modality for modality in modalities if modality not in encoder.modalities)
    if missing:
        have = ", ".join(sorted(encoder.modalities))
        raise MediaError(
            f"needs a model that reads {', '.join(missing)}; {encoder.space.model} reads {have}. Choose another model"
        )


def picture_draft(entry: Entry, picture: Image.Image) -> Draft:
    """A picture is one part."""
    entry = replace(entry, width=picture.width, height=picture.height)
    media = Media(image=picture, name=entry.name)
    return Draft(entry, (Part(_content("image", entry.sha256)),), (media,), picture)


def sound_draft(entry: Entry, sound: Audio, encoder: Encoder) -> Draft:
    """A sound in even windows."""
    spans = windows(len(sound.samples), sound.rate, min(WINDOW_SECONDS, encoder.max_seconds))
    parts = [
        Part(_content("audio", entry.sha256, f"{start}-{end}@{sound.rate}"), start / sound.rate, end / sound.rate)
        for start, end in spans
    ]
    media = [Media(audio=Audio(sound.samples[start:end], sound.rate), name=entry.name) for start, end in spans]
    note = "silent: no sample is louder than -80 dB" if sound.silent else ""
    return Draft(replace(entry, seconds=sound.seconds, note=note), tuple(parts), tuple(media))


def text_draft(entry: Entry, text: str, encoder: Encoder) -> Draft:
    """A text in passages."""
    return _of_passages(entry, passages(as_text(text), encoder.count_tokens, encoder.max_tokens))


def as_text(text: str) -> str:
    """Lone surrogates replaced: they are no text, and neither a tokenizer nor the database takes them."""
    return text.encode("utf-8", "replace").decode()


def finer(entry: Entry, segments: Sequence[Segment], encoder: Encoder) -> Draft:
    """The passages of an item again, those split that are too long for another model: nothing is cut silently."""
    found: list[Passage] = []
    for segment in segments:
        text, line = segment.text or "", int(segment.start or 1)
        if encoder.count_tokens(text) <= encoder.max_tokens:
            found.append(Passage(text, line, int(segment.end or line)))
        else:
            split = passages(text, encoder.count_tokens, encoder.max_tokens)
            found += [Passage(part.text, part.first + line - 1, part.last + line - 1) for part in split]
    return _of_passages(entry, found)


def _frames_note(data: bytes) -> str:
    """What is left out of a picture with several frames or pages. Extras of a camera's JPEG (MPO) are no frames."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            frames = 1 if image.format == "MPO" else int(getattr(image, "n_frames", 1))
    except (OSError, ValueError, SyntaxError, EOFError, LookupError, TypeError, struct.error):
        return "the first frame; those after it are damaged"  # the first one was decoded before
    return "" if frames == 1 else f"the first of {frames} frames"


def _of_passages(entry: Entry, found: Sequence[Passage]) -> Draft:
    parts = tuple(Part(_content("text", part.text), part.first, part.last, part.text) for part in found)
    return Draft(entry, parts, tuple(Media(text=part.text, name=entry.name) for part in found))


def _content(*fields: str) -> str:
    """The key under which a vector is cached: equal keys, equal input of the model (the space names all else)."""
    return hashlib.sha256("\0".join(fields).encode()).hexdigest()
