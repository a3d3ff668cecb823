"""Named endpoints for scripts: files and plain values in, plain JSON out."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import gradio as gr

from embedding.errors import TriptychError
from index.types import Hit, Item, Kind, shown
from ui import inputs
from ui.jobs import Job
from ui.question import Answer, Question
from ui.studio import MAX_RESULTS, Studio
from ui.uploads import Upload, staged, take_uploads, uploaded_path, uploads
from ui.words import count

Result = TypeVar("Result")
MAX_ITEMS = 10_000


class Endpoints:
    """What scripts can do, over a studio."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio

    def search(self, words: str, image: str | None, audio: str | None, kinds: list[str], k: float) -> dict[str, Any]:
        """Search by words, a picture, a sound, or words with one of them; no kinds mean all."""
        question = Question(
            words=inputs.words(words, "words"),
            image=Path(image) if image else None,
            audio=Path(audio) if audio else None,
            kinds=inputs.kinds(kinds),
            k=inputs.whole(k, "k", 1, MAX_RESULTS),
            balanced=False,
        )
        return answer_json(_or_error(lambda: self.studio.search(question)))

    def like(self, item: float, kinds: list[str], k: float) -> dict[str, Any]:
        """What is nearest to an item, by its id."""
        wanted, number = inputs.kinds(kinds), inputs.whole(k, "k", 1, MAX_RESULTS)
        question = Question(like=inputs.whole(item, "item", 0), kinds=wanted, k=number, balanced=False)
        return answer_json(_or_error(lambda: self.studio.search(question)))

    def add(self, sent: Sequence[Upload]) -> dict[str, Any]:
        """Copy uploaded files into the library; ids of what was added or was there, and what was skipped, and why."""
        staging = self.studio.settings.incoming / uuid.uuid4().hex
        files = staged(sent or (), staging)
        title = count(len(files), "uploaded file")
        job = self.studio.add(files, title, copy=True, done=lambda: shutil.rmtree(staging, ignore_errors=True))
        job.over.wait()
        skipped = [{"file": Path(entry.path).name, "reason": entry.reason} for entry in job.skipped]
        return {"added": job.added, "unchanged": job.unchanged, "skipped": skipped, "message": job.message}

    def items(self, kind: str, text: str, offset: float, limit: float) -> list[dict[str, Any]]:
        """Items of the library, newest first; `kind` and `text` (part of a name) may be empty."""
        wanted, part = inputs.kind(kind), inputs.words(text, "text")
        start, number = inputs.whole(offset, "offset", 0), inputs.whole(limit, "limit", 1, MAX_ITEMS)
        found = _or_error(lambda: self.studio.library.items(wanted, part, "added", start, number))
        return [item_json(item) for item in found]

    def remove(self, ids: list[int]) -> list[int]:
        """Take items out of the library; the ids that were there."""
        return _or_error(lambda: self.studio.remove(inputs.ids(ids)))

    def restore(self, ids: list[int]) -> None:
        """Undo a removal."""
        _or_error(lambda: self.studio.restore(inputs.ids(ids)))

    def switch(self, model: str, precision: str, device: str) -> dict[str, Any]:
        """Change what runs and wait for it; what runs then, and how many items are not embedded for it."""
        here = [row for row in self.studio.packages(refresh=True) if row.here]
        inputs.choice(model, "model", list(dict.fromkeys(row.model for row in here)))
        inputs.choice(precision, f"precision of {model}", [row.precision for row in here if row.model == model])
        place = inputs.words(device, "device") or self.studio.setup.device
        job = _or_error(lambda: self.studio.start_switch(model, precision, place))
        job.over.wait()
        if job.state != "done":
            raise gr.Error(job.message, print_exception=False)
        return self.status()

    def status(self) -> dict[str, Any]:
        """What runs, how many items there are, and the work in the background."""
        studio, setup = self.studio, self.studio.setup
        return {
            "model": setup.model,
            "precision": setup.precision,
            "device": setup.device,
            "space": str(studio.embedder.space),
            "items": {str(kind): number for kind, number in studio.library.count().items()},
            "pending": studio.pending(),
            "jobs": [job_json(job) for job in studio.jobs.all()],
        }


def build_api(studio: Studio) -> None:
    """Add the endpoints to the page that is being built; their controls are never drawn."""
    ends = Endpoints(studio)
    with gr.Group(visible=False):
        words, item, k = gr.Textbox(label="words"), gr.Number(label="item"), gr.Number(12, label="k")
        image, audio = gr.File(label="image"), gr.File(label="audio")
        kinds = gr.CheckboxGroup([str(kind) for kind in Kind], value=[], label="kinds")
        files = gr.File(label="files", file_count="multiple")
        answer = gr.JSON()
        for part, convert in ((image, uploaded_path), (audio, uploaded_path), (files, uploads)):
            take_uploads(part, convert)
        asked = [words, image, audio, kinds, k]
        gr.Button().click(ends.search, asked, [answer], api_name="search", concurrency_limit=4)
        gr.Button().click(ends.like, [item, kinds, k], [answer], api_name="like", concurrency_limit=4)
        gr.Button().click(ends.add, [files], [answer], api_name="add")
        kind, text = gr.Textbox(label="kind"), gr.Textbox(label="text")
        span = [gr.Number(0, label="offset"), gr.Number(100, label="limit")]
        gr.Button().click(ends.items, [kind, text, *span], [answer], api_name="items")
        setup = [
            gr.Textbox("nano", label="model"),
            gr.Textbox("int8", label="precision"),
            gr.Textbox("CPU", label="device"),
        ]
        for plain in (words, item, k, kinds, kind, text, *span, *setup):
            plain.preprocess = inputs.as_sent  # type: ignore[method-assign]
        gr.Button().click(ends.switch, setup, [answer], api_name="switch")
        gr.Button().click(ends.status, None, [answer], api_name="status")
    gr.api(ends.remove, api_name="remove")  # type: ignore[attr-defined]
    gr.api(ends.restore, api_name="restore")  # type: ignore[attr-defined]


def answer_json(answer: Answer) -> dict[str, Any]:
    """As `python app.py search --json` has it, but `file` for `path`: Gradio's client fetches whatever has a `path`."""
    question, found = answer.question, answer.hits
    query = {
        "words": question.words,
        "image": bool(question.image),
        "audio": bool(question.audio),
        "like": question.like,
    }
    timings = {name: round(ms, 3) for name, ms in {**answer.run.stages, "total": answer.run.total}.items()}
    hits = [hit_json(hit) for hit in found.hits]
    return {"query": query, "space": found.space, "hits": hits, "timings": timings, "pending": found.pending}


def hit_json(hit: Hit) -> dict[str, Any]:
    """One hit."""
    return {
        "rank": hit.rank,
        "id": hit.item.id,
        "kind": str(hit.item.kind),
        "name": hit.item.name,
        "file": shown(hit.item.path),
        "score": round(hit.score, 6),
        "segment": hit.segment.label(hit.item.kind),
    }


def item_json(item: Item) -> dict[str, Any]:
    """One item."""
    return {
        "id": item.id,
        "kind": str(item.kind),
        "name": item.name,
        "file": shown(item.path),
        "size": item.size,
        "segments": item.segments,
    }


def job_json(job: Job) -> dict[str, Any]:
    """One job of the tray."""
    return {
        "id": job.id,
        "kind": job.kind,
        "title": job.title,
        "state": str(job.state),
        "done": job.done,
        "total": job.total,
        "message": job.message,
    }


def _or_error(call: Callable[[], Result]) -> Result:
    """The result; an error of ours becomes the one that Gradio sends to the script in its own words."""
    try:
        return call()
    except TriptychError as error:
        raise gr.Error(str(error), print_exception=False) from error
