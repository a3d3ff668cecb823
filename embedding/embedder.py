"""The door of the embedding layer: media in, one unit vector each out, with the time of every stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

import numpy as np
from PIL import Image

from embedding import packages, runtime
from embedding.catalog import PREPROCESSING_VERSION, ModelCard
from embedding.devices import cache_folder, known_devices
from embedding.errors import InferenceError, MediaError, PackageError, TriptychError
from embedding.packages import PackageInfo
from embedding.plan import Performance, Placement, place
from embedding.routing import Routable, RoutedSession
from embedding.towers import Prepared, family
from embedding.types import Audio, Embeddings, Failure, Item, Media, Modality, Role, Space, Timings, Vectors


@dataclass(frozen=True)
class LoadOptions:
    """How a model is loaded: folder of compiled graphs (None: no cache), plugins.xml, LATENCY or THROUGHPUT, and the
    seconds after which a call of the device is given up.

    None stands for the model's own: instruction of queries (documents keep theirs, so the space stays the same), most
    soft tokens of a picture, and size of the vectors (a prefix, for models trained so).
    """

    cache_dir: Path | None = None
    plugins: Path | None = None
    performance: Performance = Performance.LATENCY
    timeout: float = 600.0
    instruction: str | None = None
    image_budget: int | None = None
    dim: int | None = None


# Padded tokens of one text batch: bounds the memory of attention, whatever the number of texts.
MAX_BATCH_TOKENS = 4096


def unit(vectors: Vectors) -> Vectors:
    """Rows divided by their L2 norm, float32 [n, dim]. Raises InferenceError on rows that are not finite or zero."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(norms).all() or (norms < 1e-6).any():
        raise InferenceError("gives a vector that is zero or not finite: the model knows nothing in it")
    return np.asarray(vectors / norms, dtype=np.float32)


class Embedder:
    """A loaded model on a device. Safe to call from several threads; close it to give its memory back."""

    def __init__(
        self, info: PackageInfo, device: str, sessions: dict[str, Routable], options: LoadOptions | None = None
    ) -> None:
        assert info.path is not None
        options = options or LoadOptions()
        opened = family(info.card.family).open_tower
        tower = opened(info.path, info.card.prompts, sessions, options.image_budget)
        self.card: ModelCard = replace(info.card, dim=tower.dim, modalities=tower.modalities)
        self.precision = info.package.precision
        self.device = device
        self.dim = _checked_dim(self.card, options.dim)
        self.modalities = tower.modalities
        self.max_seconds = tower.max_seconds
        self.max_tokens = tower.max_tokens
        self.space = Space(
            model=info.card.name,
            revision=info.card.revision,
            prompts=info.card.prompts.digest,
            preprocessing=f"{PREPROCESSING_VERSION}.{tower.preprocessing}",
            dim=self.dim,
        )
        self.plan = tuple(session.plan() for session in sessions.values())
        self._tower = tower
        self._sessions = sessions

    def embed(self, items: Sequence[Item], role: Role | str = Role.DOCUMENT) -> Embeddings:
        """Vectors of all items, in their order. Texts share batches by length; each picture or sound is its own call.

        An item that cannot be embedded fails alone: its row is NaN and `failures` says why.
        """
        if isinstance(items, str | Media | Audio | Image.Image):
            raise MediaError(f"A list of inputs is embedded, not a single {type(items).__name__}; put it into a list.")
        items = list(items)
        role, timings, failures = Role(role), Timings(), dict[int, str]()
        vectors = np.full((len(items), self.dim), np.nan, dtype=np.float32)
        soft_tokens, notes = [0] * len(items), [""] * len(items)
        texts: list[tuple[int, Prepared]] = []
        for index, item in enumerate(items):
            try:
                prepared = self._tower.prepare(self._checked(item), role, timings)
                soft_tokens[index], notes[index] = prepared.soft_tokens, prepared.note
                if prepared.soft_tokens:
                    vectors[index] = self._pool([prepared], timings)[0]
                else:
                    texts.append((index, prepared))
            except TriptychError as error:
                failures[index] = str(error)
        for batch in _batches(texts):
            for index, row in zip((index for index, _ in batch), self._pool_each(batch, timings), strict=True):
                if isinstance(row, TriptychError):
                    failures[index] = str(row)
                else:
                    vectors[index] = row
        found = tuple(Failure(index, failures[index]) for index in sorted(failures))
        return Embeddings(vectors, timings, found, tuple(soft_tokens), tuple(notes))

    def count_tokens(self, text: str) -> int:
        """Tokens of a bare text; a document may have `max_tokens` of them."""
        return self._tower.count_tokens(text)

    def close(self) -> None:
        """Release the graphs. A call that is running ends first; later calls fail."""
        for session in self._sessions.values():
            session.close()

    def __enter__(self) -> Embedder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _pool_each(self, batch: list[tuple[int, Prepared]], timings: Timings) -> list[Vectors | TriptychError]:
        """Rows of a batch of texts; when the batch fails each text is tried alone, so that a bad one fails alone."""
        try:
            return list(self._pool([prepared for _, prepared in batch], timings))
        except TriptychError as error:
            if len(batch) == 1:
                return [error]
        return [row for entry in batch for row in self._pool_each([entry], timings)]

    def _pool(self, batch: Sequence[Prepared], timings: Timings) -> Vectors:
        with timings.stage("text"):
            vectors = self._tower.pool(batch)
        if vectors.shape != (len(batch), self.card.dim):
            raise InferenceError(f"The model gave shape {vectors.shape} where ({len(batch)}, {self.card.dim}) was due.")
        return unit(vectors[:, : self.dim])

    def _checked(self, item: Item) -> Media:
        media = as_media(item)
        missing = media.modalities - self.modalities
        if missing:
            have = ", ".join(sorted(self.modalities))
            raise MediaError(
                f"{self.card.title} has no {', '.join(sorted(missing))} tower; it reads {have}. Switch the model."
            )
        if not media.modalities or (media.modalities == {Modality.TEXT} and not (media.text or "").strip()):
            raise MediaError("holds nothing to embed")
        if media.text is not None and not media.text.isascii():
            _check_text(media.text)
        return media


def _check_text(text: str) -> None:
    """MediaError for halves of surrogate pairs: no file holds them, and tokenizers refuse a whole batch for one."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MediaError("holds characters that are no text (lone surrogates)") from error


def as_media(item: Item) -> Media:
    """Any accepted input as Media; MediaError for anything else."""
    if isinstance(item, Media):
        parts = ((item.text, str), (item.image, Image.Image), (item.audio, Audio))
        wrong = [part for part, kind in parts if part is not None and not isinstance(part, kind)]
        if wrong:
            raise MediaError(f"has a {type(wrong[0]).__name__} as a part; text, a PIL image or Audio is embedded")
        return item
    if isinstance(item, str):
        return Media(text=item)
    if isinstance(item, Image.Image):
        return Media(image=item)
    if isinstance(item, Audio):
        return Media(audio=item)
    raise MediaError(f"is a {type(item).__name__}; text, a PIL image, Audio or Media is embedded")


def load_embedder(
    name: str = "nano",
    precision: str = "int8",
    device: str = "CPU",
    models_dir: Path | str | None = None,
    options: LoadOptions | None = None,
) -> Embedder:
    """Load a package and compile its towers. PackageError and DeviceError say what exists and what to do."""
    options = options or LoadOptions()
    info = packages.find(name, precision, Path(models_dir) if models_dir is not None else None)
    info = replace(info, card=info.card.instructed(options.instruction))
    found = known_devices(device, options.plugins)
    placements = place(tuple(info.package.graphs), device, found, options.performance)
    sessions: dict[str, Routable] = {}
    try:
        for placement in placements:
            sessions[placement.tower] = _open(info, placement, options)
        return Embedder(info, device, sessions, options)
    except BaseException:
        for session in sessions.values():
            session.close()
        raise


def _checked_dim(card: ModelCard, dim: int | None) -> int:
    """The size of the vectors; PackageError when the model was not trained for a prefix of that size."""
    sizes = {card.dim, *(size for size in card.matryoshka if size < card.dim)}
    if dim is None or dim in sizes:
        return dim or card.dim
    raise PackageError(
        f"{card.title} has no vectors of {dim} numbers; it has {', '.join(map(str, sorted(sizes, reverse=True)))}."
    )


def _open(info: PackageInfo, placement: Placement, options: LoadOptions) -> Routable:
    """Compile one graph of a package as its placement says, the second one of a routed tower included."""
    assert info.path is not None
    precision = str(info.package.precision)
    cache = options.cache_dir and cache_folder(options.cache_dir, placement.device, precision, options.plugins)
    how = runtime.Options(cache, options.plugins, options.timeout)
    graph = info.path / info.package.graphs[placement.tower]
    if not (placement.static_patches or placement.static_tokens):
        return runtime.Session(graph, placement, how)
    shapes = family(info.card.family).static_shapes
    static = shapes(info.path, placement.tower, placement.static_tokens, options.image_budget)
    session = runtime.Session(graph, placement, how, static)
    if placement.fallback is None or placement.static_tokens is None:
        return session
    try:
        return RoutedSession(session, _open(info, placement.fallback, options), placement.static_tokens)
    except BaseException:
        session.close()
        raise


def _batches(texts: list[tuple[int, Prepared]]) -> list[list[tuple[int, Prepared]]]:
    """Texts of similar length together, no batch above MAX_BATCH_TOKENS padded tokens (a longer text is alone)."""
    batches: list[list[tuple[int, Prepared]]] = []
    for entry in sorted(texts, key=lambda pair: pair[1].length):
        length = entry[1].length  # ascending, so this one sets the padded length
        if batches and length * (len(batches[-1]) + 1) <= MAX_BATCH_TOKENS:
            batches[-1].append(entry)
        else:
            batches.append([entry])
    return batches
