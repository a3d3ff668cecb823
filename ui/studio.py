"""The studio: library, embedder, settings and latency behind the page. Plain Python; the page draws what it says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from embedding.checks import compare_with_cpu, probe, probe_inputs
from embedding.errors import LibraryError, MediaError, TriptychError
from embedding.media import decode_audio, decode_image
from embedding.types import Media, Modality, Timings
from index.types import Progress, Query
from ui.choices import Choices, choices, precision_of
from ui.jobs import Job, Jobs, follow
from ui.latency import LatencyLog, Run, Setup
from ui.models import DeviceRow, Engines, PackageRow
from ui.question import Answer, Question, StudioSettings
from ui.switching import Turnstile

if TYPE_CHECKING:
    from embedding.embedder import Embedder
    from index import Library

__all__ = ["Studio", "StudioSettings"]
Decoded = TypeVar("Decoded")

SAMPLES = Path(__file__).resolve().parent.parent / "assets" / "library"
OFFERED = "embeddinggemma-2"  # the model that the banner offers while the built-in one is in use
MAX_RESULTS = 200
CLOSE_TIMEOUT = 120.0  # seconds that a replaced embedder may still be used by a call that began before the swap


class Studio:
    """One per process. Searches may come from any thread at any time, also while a switch or an ingest runs."""

    def __init__(self, library: Library, embedder: Embedder, engines: Engines, settings: StudioSettings) -> None:
        self.library = library
        self.engines = engines
        self.settings = settings
        self.latency = LatencyLog()
        self.jobs = Jobs()
        self.offered = OFFERED
        self._embedder = embedder
        self._setup = self._wanted = _setup_of(embedder)
        self._turnstile = Turnstile()
        self._switching = threading.Lock()
        self._packages = engines.packages()
        self._devices: tuple[DeviceRow, ...] | None = None

    # ---- what runs

    @property
    def setup(self) -> Setup:
        """Model, precision and device in use."""
        return self._setup

    @property
    def wanted(self) -> Setup:
        """What was chosen last: what is in use, or what a switch under way leads to."""
        return self._wanted

    @property
    def embedder(self) -> Embedder:
        """The embedder in use."""
        return self._embedder

    def choices(self) -> Choices:
        """What the drop-downs offer, with reasons for what cannot be chosen."""
        return choices(self._packages, self._devices, self._wanted)

    def packages(self, refresh: bool = False) -> tuple[PackageRow, ...]:
        """Rows of all known packages; `refresh` looks at the models folder again."""
        if refresh:
            self._packages = self.engines.packages()
        return self._packages

    @property
    def devices(self) -> tuple[DeviceRow, ...]:
        """Devices of this machine; empty until they were looked for."""
        return self._devices or ()

    def find_devices(self) -> None:
        """Look for devices. It takes a second or more, so the page opens before."""
        self._devices = self.engines.devices()
        self.jobs.touch()

    # ---- searching

    def search(self, question: Question) -> Answer:
        """Answer a question. MediaError, SpaceError or LibraryError say what is wrong with it."""
        if question.empty:
            raise LibraryError("Nothing was asked: type words, attach a picture or a sound.")
        start = time.perf_counter()
        timings = Timings()
        with self._turnstile.enter():
            setup, media = self._setup, self._media(question, timings)
            k = max(1, min(question.k, MAX_RESULTS))
            query = Query(media, question.like, question.kinds, k, question.balanced)
            hits = self.library.search(query)
        timings.merge(hits.timings)
        total = (time.perf_counter() - start) * 1000.0
        if media is None:  # no tower ran: not comparable with searches that did
            return Answer(question, hits, Run(timings.ms, total, cold=False), setup)
        run = self.latency.record(setup, map(str, media.modalities), timings.ms, total)
        self.jobs.touch()
        return Answer(question, hits, run, setup)

    def _media(self, question: Question, timings: Timings) -> Media | None:
        if question.like is not None:
            return None
        if question.image and question.audio:
            raise MediaError("A picture and a sound cannot be asked together: remove one of them.")
        needed = Modality.IMAGE if question.image else Modality.AUDIO if question.audio else Modality.TEXT
        if needed not in self._embedder.modalities:
            raise MediaError(f"{self._setup.model} has no {needed} tower: choose another model in the bar.")
        words = question.words.strip() or None
        with timings.stage("decode"):
            if question.image:
                return Media(text=words, image=_decoded(decode_image, question.image, "picture"))
            if question.audio:
                return Media(text=words, audio=_decoded(decode_audio, question.audio, "sound"))
        return Media(text=words)

    # ---- the library

    def add(self, paths: Iterable[Path], title: str, copy: bool = False, done: Callable[[], None] | None = None) -> Job:
        """Index files and folders in the background; `copy` keeps copies in the library. `done` runs at the end."""
        files = list(paths)

        def work(job: Job) -> None:
            try:
                self._follow(job, self.library.add(files, copy=copy, cancelled=job.stop.is_set))
            finally:
                if done:
                    done()

        return self.jobs.start("ingest", title, work)

    def add_samples(self) -> Job:
        """Index the sample library in place."""
        folder = self.settings.samples or SAMPLES
        paths = sorted(path for path in folder.iterdir() if path.name != "SOURCES.md")  # which is about the samples
        return self.add(paths, "Sample library", done=self._mark_welcomed)

    def welcome(self) -> None:
        """Warm the towers and look for devices; on the very first start add the sample library. Returns at once."""
        self.jobs.start("warm", "Warm up", self._warm, unit="towers")
        self.jobs.start("devices", "Look for devices", lambda job: self.find_devices(), unit="devices")
        if self.settings.samples and not self._welcomed.exists() and not sum(self.library.count().values()):
            self.add_samples()

    def remove(self, ids: Iterable[int]) -> list[int]:
        """Take items out of the library; `restore` brings them back."""
        removed = list(self.library.remove(list(ids)))
        self.jobs.touch()
        return removed

    def restore(self, ids: Iterable[int]) -> None:
        """Undo a removal."""
        self.library.restore(list(ids))
        self.jobs.touch()

    def pending(self) -> int:
        """How many items have no vector in the space in use."""
        return int(self.library.pending())

    def embed_pending(self) -> Job:
        """Embed in the background what has no vector in the space in use."""
        return self.jobs.start("embed", f"Embed for {self._setup.model}", self._embed_pending, unit="items")

    def _embed_pending(self, job: Job) -> None:
        self._follow(job, self.library.embed_pending(cancelled=job.stop.is_set))

    def _follow(self, job: Job, events: Iterator[Progress]) -> None:
        follow(job, self._inside(events), self.jobs.touch)

    def _inside(self, events: Iterator[Progress]) -> Iterator[Progress]:
        """The same events, each made while counted as inside, so that a switch never closes an embedder under it."""
        while True:
            with self._turnstile.enter():
                try:
                    event = next(events)
                except StopIteration:
                    return
            yield event

    @property
    def _welcomed(self) -> Path:
        return self.settings.data_dir / "welcomed"

    def _mark_welcomed(self) -> None:
        self._welcomed.touch()

    # ---- switching

    def start_switch(self, model: str, precision: str, device: str) -> Job:
        """Switch in the background. The newest wish wins: a switch that is under way stops at its next step."""
        for older in self.jobs.active("switch"):
            self.jobs.cancel(older.id)
        self._wanted = Setup(model, precision_of(self._packages, model, precision) or precision, device)

        def work(job: Job) -> None:
            def step(text: str) -> None:
                if job.stop.is_set():
                    raise TriptychError("Another choice was made meanwhile.")
                job.step = text
                self.jobs.touch()

            try:
                job.message = self.switch(model, precision, device, step)
            finally:
                if not job.stop.is_set():
                    self._wanted = self._setup

        return self.jobs.start("switch", model, work, unit="steps")

    def switch(self, model: str, precision: str, device: str, progress: Callable[[str], None]) -> str:
        """Load beside the old embedder, probe, swap, close the old one; returns what to tell. On failure it stays."""
        granted = precision_of(self.engines.packages(), model, precision)
        if granted is None:
            raise LibraryError(f"No package of {model} is here: get it on the About tab.")
        with self._switching:
            progress(f"load {model} {granted} on {device}")
            fresh = self.engines.load(model, granted, device)
            try:
                _, timings = probe(fresh, progress)
                compare_with_cpu(fresh, partial(self.engines.load, model, granted, "CPU"), progress)
                progress("swap")
                self.library.use(fresh)
                self._first_search()
            except BaseException:
                fresh.close()
                raise
            old, self._embedder = self._embedder, fresh
            self._setup = _setup_of(fresh)
            self.latency.first(self._setup, map(str, fresh.modalities), timings.ms)
            self._turnstile.wait_for_present(CLOSE_TIMEOUT)
            old.close()
        return f"{self._setup} is in use."

    def _warm(self, job: Job) -> None:
        with self._turnstile.enter():
            embedder, setup = self._embedder, self._setup
            _, timings = probe(embedder)
            self._first_search()
        self.latency.first(setup, map(str, embedder.modalities), timings.ms)

    def _first_search(self) -> None:
        """The first search opens the vector store; nobody who asks shall wait for that."""
        with suppress(TriptychError):
            self.library.search(Query(probe_inputs()[Modality.TEXT], k=1))

    # ---- packages

    def start_pull(self, model: str, precision: str) -> Job:
        """Download a package in the background."""

        def work(job: Job) -> None:
            def progress(done: int, total: int, name: str) -> None:
                job.done, job.total, job.step = done, total, name
                self.jobs.touch()
                if job.stop.is_set():
                    raise TriptychError("The download was stopped; it goes on from here next time.")

            self.engines.pull(model, precision, progress)
            self._packages = self.engines.packages()
            job.message = f"{model} {precision} is here: choose it in the bar."

        return self.jobs.start("pull", f"Download {model} {precision}", work, unit="bytes")

    def close(self) -> None:
        """Stop all work and release the embedder and the library."""
        self.jobs.close()
        self.library.close()
        self._embedder.close()


def _setup_of(embedder: Embedder) -> Setup:
    return Setup(embedder.card.name, str(embedder.precision), embedder.device)


def _decoded(decode: Callable[[Path], Decoded], path: Path, word: str) -> Decoded:
    try:
        return decode(path)
    except MediaError as error:
        raise MediaError(f"The {word} {error}.") from error
