"""An embedder together with the searchable vectors of its space. Switching models is switching the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from embedding.errors import InferenceError, LibraryError, MediaError, SpaceError
from embedding.types import Audio, Embeddings, Media, Modality, Role, Timings, Vectors
from index.catalogue import Catalogue
from index.ingest import as_text, require
from index.mirror import Mirror
from index.rows import Part
from index.segment import WINDOW_SECONDS, passages, windows
from index.types import Encoder, Kind

# Segments of one call of the model: between two calls other work gets its turn, and a wish to cancel is heard.
_CHUNK = 16
_UNIT_TOLERANCE = 1e-3


class Interrupted(Exception):
    """A person cancelled between two calls of the model; caught inside the index."""


class Engine:
    """Turns parts and questions into vectors; no lock is held while the model runs."""

    def __init__(self, catalogue: Catalogue, encoder: Encoder, store: str) -> None:
        self.encoder = encoder
        self.mirror = Mirror(catalogue, encoder.space, store)
        self.kinds = frozenset(kind for kind in Kind if kind.modality in encoder.modalities)
        self._catalogue = catalogue

    def new_vectors(
        self, parts: Sequence[Part], media: Sequence[Media], timings: Timings, cancelled: Callable[[], bool]
    ) -> dict[str, Vectors]:
        """Vectors, by content, of those parts that have none in the cache.

        Raises MediaError with the reason when one of them has no vector, Interrupted when `cancelled()`.
        """
        known = self._catalogue.known(self.mirror.space_id, (part.content for part in parts))
        wanted = {part.content: item for part, item in zip(parts, media, strict=True) if part.content not in known}
        vectors: dict[str, Vectors] = {}
        contents = list(wanted)
        for start in range(0, len(contents), _CHUNK):
            if cancelled():
                raise Interrupted
            chunk = contents[start : start + _CHUNK]
            found = self.encoder.embed([wanted[content] for content in chunk], Role.DOCUMENT)
            timings.merge(found.timings)
            vectors.update(zip(chunk, self._checked(found, len(chunk)), strict=True))
        return vectors

    def require_vectors(self) -> None:
        """SpaceError, with what to do, when the library has vectors but none of this model."""
        if len(self.mirror):
            return
        spaces = self._catalogue.spaces()
        if spaces and not self.mirror.pending(self.kinds):
            reads = ", ".join(sorted(self.kinds))
            raise SpaceError(
                f"{self.encoder.space.model} finds items of these kinds: {reads}, and the library holds none. "
                "Add some, or switch to another model."
            )
        if spaces:
            made = ", ".join(f"{key} ({items} items)" for key, items in spaces)
            raise SpaceError(
                f"The library was embedded with {made} and has no vectors of {self.encoder.space.key}: "
                "run `python app.py reembed`, press the button for it on the page, or go back to that model."
            )

    def question(self, media: Media, timings: Timings) -> Vectors:
        """Vectors [n, dim] of a question: one, or one for each window or passage when it is too long for one."""
        if media.text is not None:
            media = replace(media, text=as_text(media.text))
        try:
            require(self.encoder, *media.modalities)
            found = self.encoder.embed(self._fitting(media), Role.QUERY)
            timings.merge(found.timings)
            return self._checked(found, len(found.vectors))
        except MediaError as error:
            raise MediaError(f"The question {error}.") from error

    def medoid(self, item_id: int) -> Vectors:
        """The vector [1, dim] of an item that is nearest to the mean of its vectors; [0, dim] before it is embedded.

        A real vector of one segment, so that the item itself is found at 1.
        """
        ids = [segment.id for segment, _ in self._catalogue.segments(item_id)]
        _, vectors = self._catalogue.vectors(self.mirror.space_id, ids)
        if not len(vectors):
            return vectors
        return vectors[[int(np.argmax(vectors @ vectors.mean(axis=0)))]]

    def _fitting(self, media: Media) -> list[Media]:
        """The question in pieces that the model takes whole. Words that go with a picture or a sound are not split."""
        if media.audio is not None:
            samples, rate = media.audio.samples, media.audio.rate
            spans = windows(len(samples), rate, min(WINDOW_SECONDS, self.encoder.max_seconds))
            return [replace(media, audio=Audio(samples[start:end], rate)) for start, end in spans]
        if media.text is not None and media.modalities == {Modality.TEXT}:
            if not media.text.strip():
                raise MediaError("is empty: type some words")
            split = passages(media.text, self.encoder.count_tokens, self.encoder.max_tokens, self.encoder.max_tokens)
            return [replace(media, text=part.text) for part in split]
        if not media.modalities:
            raise MediaError("is empty: type some words, or give a picture or a sound")
        return [media]

    def _checked(self, found: Embeddings, rows: int) -> Vectors:
        """The vectors when all are there and of unit length: what is wrong never reaches the database."""
        if found.failures:
            raise MediaError(found.failures[0].reason)
        if found.vectors.shape != (rows, self.encoder.dim):
            raise InferenceError(
                f"The model gave vectors of shape {found.vectors.shape}, not {(rows, self.encoder.dim)}."
            )
        norms = np.linalg.norm(found.vectors, axis=1)
        if not (np.abs(norms - 1.0) < _UNIT_TOLERANCE).all():  # also false for NaN
            raise InferenceError("The model gave a vector that is not of length 1.")
        return found.vectors


def check_query(media: Media | None, like: int | None, k: int) -> None:
    """LibraryError when a query is none."""
    if (media is None) == (like is None):
        raise LibraryError("A query is either a question (words, a picture, a sound) or an item to be like.")
    if k < 1:
        raise LibraryError(f"{k} results were asked for; ask for at least 1.")
