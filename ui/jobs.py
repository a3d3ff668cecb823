"""Long work in the background: what runs, how far it is, how fast, and how to stop it."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum

from embedding.errors import TriptychError
from index.types import Progress, Skipped

KEPT = 30  # finished jobs that stay on the board


class JobState(StrEnum):
    """Where a job stands."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass
class Job:
    """One piece of work. `kind` groups jobs for the page: ingest, embed, pull or switch."""

    id: int
    kind: str
    title: str
    unit: str = "files"
    state: JobState = JobState.WAITING
    done: int = 0
    total: int = 0
    step: str = ""
    message: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    unchanged: list[int] = field(default_factory=list)
    started: float = 0.0
    ended: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def active(self) -> bool:
        """It waits or runs."""
        return self.state in (JobState.WAITING, JobState.RUNNING)

    @property
    def seconds(self) -> float:
        """How long it has run."""
        if not self.started:
            return 0.0
        return (self.ended or time.monotonic()) - self.started

    @property
    def rate(self) -> float:
        """Units a second so far."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds to go at the present rate; None while that is unknown."""
        if not self.active or self.rate <= 0 or self.total <= 0:
            return None
        return (self.total - self.done) / self.rate


class Jobs:
    """Board of jobs. Work on the library runs one job after another; other jobs run at once."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._jobs: dict[int, Job] = {}
        self._library = ThreadPoolExecutor(1, thread_name_prefix="library")
        self._others = ThreadPoolExecutor(4, thread_name_prefix="job")
        self._lock = threading.Lock()
        self.revision = 0

    def start(self, kind: str, title: str, work: Callable[[Job], None], unit: str = "files") -> Job:
        """Queue work; `work` gets its job, writes its progress there and looks at `job.stop`."""
        job = Job(next(self._ids), kind, title, unit)
        with self._lock:
            self._jobs[job.id] = job
            finished = [old for old, one in self._jobs.items() if not one.active]
            for old in finished[:-KEPT]:
                del self._jobs[old]
        self.touch()
        pool = self._library if kind in ("ingest", "embed") else self._others
        pool.submit(self._run, job, work)
        return job

    def touch(self) -> None:
        """Note that something changed, so that pages draw it."""
        with self._lock:
            self.revision += 1

    def all(self) -> list[Job]:
        """Every job that was not dismissed, newest first."""
        with self._lock:
            return sorted(self._jobs.values(), key=lambda job: -job.id)

    def active(self, *kinds: str) -> list[Job]:
        """Jobs of these kinds (all when none is named) that wait or run."""
        return [job for job in self.all() if job.active and (not kinds or job.kind in kinds)]

    def cancel(self, job_id: int) -> None:
        """Ask a job to stop after its current unit."""
        job = self._jobs.get(job_id)
        if job and job.active:
            job.stop.set()
            job.step = "stopping"
            self.touch()

    def dismiss(self, job_id: int) -> None:
        """Take a finished job off the board."""
        with self._lock:
            if (job := self._jobs.get(job_id)) and not job.active:
                del self._jobs[job_id]
        self.touch()

    def close(self) -> None:
        """Stop all jobs and wait for them."""
        for job in self.active():
            job.stop.set()
        self._library.shutdown(wait=True, cancel_futures=True)
        self._others.shutdown(wait=False, cancel_futures=True)

    def _run(self, job: Job, work: Callable[[Job], None]) -> None:
        job.started = time.monotonic()
        job.state = JobState.RUNNING
        self.touch()
        try:
            if not job.stop.is_set():
                work(job)
            job.state = JobState.CANCELLED if job.stop.is_set() else JobState.DONE
        except TriptychError as error:
            job.state, job.message = JobState.CANCELLED if job.stop.is_set() else JobState.FAILED, str(error)
        except Exception as error:  # noqa: BLE001  on a thread of its own: whatever broke must reach the page
            job.state, job.message = JobState.FAILED, f"{type(error).__name__}: {error}"
        finally:
            job.ended = time.monotonic()
            job.step = ""
            job.over.set()
            self.touch()


def follow(job: Job, events: Iterator[Progress], touch: Callable[[], None]) -> None:
    """Run an ingest to its end or to the stop, and count in the job what became of each file."""
    for event in events:
        job.done, job.total, job.step = event.done, event.total, event.path
        job.counts[event.outcome] = job.counts.get(event.outcome, 0) + 1
        if event.outcome == "skipped":
            job.skipped.append(Skipped(event.path, event.reason))
        elif event.item is not None:
            (job.added if event.outcome == "added" else job.unchanged).append(event.item.id)
        touch()
        if job.stop.is_set():
            return
