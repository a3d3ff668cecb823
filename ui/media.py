"""Hand out files of the library by item id. No path ever comes from the client."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response

from embedding.errors import TriptychError
from embedding.media import decode_audio, decode_text
from index.types import Item, Kind
from ui.studio import Studio
from ui.waveform import waveform

# Types that a browser shows without running anything; whatever else is in the library is offered as a download.
TYPES = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".bmp": "image/bmp",
    ".avif": "image/avif",
    ".wav": "audio/wav",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".mp3": "audio/mpeg",
}
POLICY = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox"
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, max-age=3600",
}


def media_router(studio: Studio) -> APIRouter:
    """Routes `/media/{id}`, `/thumb/{id}`, `/wave/{id}` and `/health`."""
    router = APIRouter()

    @router.get("/media/{item_id}")
    def media(item_id: int) -> Response:
        item = _item(studio, item_id)
        if item.kind is Kind.DOCUMENT:
            return PlainTextResponse(_text(item), headers=SAFE)
        path = Path(item.path)
        if not path.is_file():
            raise HTTPException(404, "The file of this item is gone.")
        kind = TYPES.get(path.suffix.lower())
        disposition = "inline" if kind else "attachment"
        headers = {**SAFE, "Content-Disposition": f"{disposition}; filename*=UTF-8''{quote(item.name)}"}
        return FileResponse(path, media_type=kind or "application/octet-stream", headers=headers)

    @router.get("/thumb/{item_id}")
    def thumb(item_id: int) -> Response:
        item = _item(studio, item_id)
        path = studio.library.thumbnail(item.id)
        if path is None or not path.is_file():
            raise HTTPException(404, "This item has no thumbnail.")
        return FileResponse(path, media_type="image/webp", headers=SAFE)

    @router.get("/wave/{item_id}")
    def wave(item_id: int) -> Response:
        return _wave(studio, _item(studio, item_id))

    @router.get("/health")
    def health() -> Response:
        return JSONResponse({"ok": True, "setup": str(studio.setup), "items": sum(studio.library.count().values())})

    return router


def _item(studio: Studio, item_id: int) -> Item:
    try:
        return studio.library.item(item_id)
    except (TriptychError, KeyError) as error:
        raise HTTPException(404, "There is no such item.") from error


def _wave(studio: Studio, item: Item) -> Response:
    """Drawing of a sound, made once and kept by the content of the sound."""
    kept = studio.settings.data_dir / "waves" / f"{item.sha256}.svg"
    if not kept.is_file():
        if item.kind is not Kind.AUDIO:
            raise HTTPException(404, "This item is no sound.")
        try:
            drawing = waveform(decode_audio(Path(item.path)))
        except TriptychError as error:
            raise HTTPException(404, f"The file {error}.") from error
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(drawing, encoding="utf-8")
    return FileResponse(kept, media_type="image/svg+xml", headers=SAFE)


def _text(item: Item) -> str:
    try:
        return decode_text(Path(item.path))
    except TriptychError as error:
        raise HTTPException(404, f"The file {error}.") from error
