"""Serve the page: Gradio mounted in a FastAPI app of ours, which hands out media by item id and says that it is alive."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import gradio as gr
import uvicorn
from fastapi import FastAPI

from ui.layout import build_page
from ui.media import media_router
from ui.studio import Studio
from ui.theme import page_head, theme

ASSETS = Path(__file__).resolve().parent.parent / "assets"
MAX_UPLOAD = "2gb"


def make_app(studio: Studio) -> FastAPI:
    """The whole application: page, media, health."""
    uploads = studio.settings.uploads
    for folder in (uploads, studio.settings.incoming):  # left over from a process that was killed
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    # Gradio reads the folder of uploads from the environment only; its default is one folder for all users of the machine.
    os.environ["GRADIO_TEMP_DIR"] = str(uploads)
    app = FastAPI(title="Triptych", docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(media_router(studio))
    return gr.mount_gradio_app(
        app,
        build_page(studio),
        path="/",
        footer_links=["api"],
        run_history=False,
        show_error=True,
        max_file_size=MAX_UPLOAD,
        ssr_mode=False,
        enable_monitoring=False,
        pwa=False,
        mcp_server=False,
        theme=theme(),
        css_paths=[ASSETS / "style.css"],
        head=page_head(),
    )


def serve(studio: Studio, host: str, port: int) -> None:
    """Run the server in the foreground; port 0 takes a free one. The address is printed to standard error when it answers."""
    config = uvicorn.Config(make_app(studio), host=host, port=port, log_level="warning", access_log=False)
    server = _Announcing(config)
    studio.welcome()
    try:
        server.run()
    finally:
        studio.close()


class _Announcing(uvicorn.Server):
    """Says where it listens once it does, because with port 0 nobody else knows."""

    async def startup(self, sockets: list[object] | None = None) -> None:
        await super().startup(sockets)  # type: ignore[arg-type]
        for listener in self.servers:
            for socket in listener.sockets:
                host, port = socket.getsockname()[:2]
                sys.stderr.write(f"Triptych listens on http://{host}:{port}\n")
        sys.stderr.flush()
