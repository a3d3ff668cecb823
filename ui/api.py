"""Named endpoints for scripts: plain values in, plain JSON out."""

from __future__ import annotations

from typing import Any

import gradio as gr

from embedding.errors import TriptychError
from index.types import Hit, Item, Kind, shown
from ui.handlers import kinds_of
from ui.studio import Answer, Question, Studio


def build_api(studio: Studio) -> None:
    """Add the endpoints `/search`, `/items`, `/remove`, `/status` to the page that is being built."""

    def search(words: str = "", like: int = 0, kinds: list[str] = [], k: int = 12) -> dict[str, Any]:  # noqa: B006
        """Search by words or by the id of an item; the ranked hits, and the milliseconds of every stage."""
        try:
            answer = studio.search(Question(words=words, like=like or None, kinds=kinds_of(kinds), k=k))
        except TriptychError as error:
            raise gr.Error(str(error)) from error
        return answer_json(answer)

    def items(kind: str = "", text: str = "", offset: int = 0, limit: int = 100) -> list[dict[str, Any]]:
        """Items of the library, newest first."""
        found = studio.library.items(Kind(kind) if kind else None, text, "added", offset, min(limit, 1000))
        return [item_json(item) for item in found]

    def remove(ids: list[int]) -> list[int]:
        """Take items out of the library; the ids that were there."""
        return studio.remove(ids)

    def status() -> dict[str, Any]:
        """What runs, how many items there are, and what works in the background."""
        return status_json(studio)

    for endpoint in (search, items, remove, status):
        gr.api(endpoint, api_name=endpoint.__name__)  # type: ignore[attr-defined]


def answer_json(answer: Answer) -> dict[str, Any]:
    """Same layout as `python app.py search --json`."""
    question = answer.question
    query = {
        "words": question.words,
        "image": bool(question.image),
        "audio": bool(question.audio),
        "like": question.like,
    }
    hits = [hit_json(hit) for hit in answer.hits.hits]
    timings = {name: round(ms, 3) for name, ms in {**answer.run.stages, "total": answer.run.total}.items()}
    found = answer.hits
    return {"query": query, "space": found.space, "hits": hits, "timings": timings, "pending": found.pending}


def hit_json(hit: Hit) -> dict[str, Any]:
    """One hit."""
    return {
        "rank": hit.rank,
        "id": hit.item.id,
        "kind": str(hit.item.kind),
        "name": hit.item.name,
        "path": shown(hit.item.path),
        "score": round(hit.score, 6),
        "segment": hit.segment.label(hit.item.kind),
    }


def item_json(item: Item) -> dict[str, Any]:
    """One item."""
    return {
        "id": item.id,
        "kind": str(item.kind),
        "name": item.name,
        "path": shown(item.path),
        "size": item.size,
        "segments": item.segments,
    }


def status_json(studio: Studio) -> dict[str, Any]:
    """What runs and what works."""
    jobs = [
        {
            "id": job.id,
            "kind": job.kind,
            "title": job.title,
            "state": str(job.state),
            "done": job.done,
            "total": job.total,
            "message": job.message,
        }
        for job in studio.jobs.all()
    ]
    setup = studio.setup
    return {
        "model": setup.model,
        "precision": setup.precision,
        "device": setup.device,
        "space": str(studio.embedder.space),
        "items": {str(kind): number for kind, number in studio.library.count().items()},
        "pending": studio.pending(),
        "jobs": jobs,
    }


__all__ = ["answer_json", "build_api", "hit_json", "item_json", "status_json"]
