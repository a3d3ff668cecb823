"""Serve the page: Gradio in a FastAPI app of ours, which hands out media by item id and says that it is alive."""

from __future__ import annotations

import ipaddress
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from socket import socket

import gradio as gr
import uvicorn
from fastapi import FastAPI, Request
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import PlainTextResponse, Response

from ui.layout import build_page
from ui.media import media_router
from ui.studio import Studio
from ui.theme import ASSETS, page_head, theme

MAX_UPLOAD = "2gb"


def make_app(studio: Studio, root_path: str = "") -> FastAPI:
    """The whole application: page, media, health."""
    uploads = studio.settings.uploads
    for folder in (uploads, studio.settings.incoming):  # left over from a process that was killed
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    # Gradio takes this from the environment only; its default is one folder for all users of the machine.
    os.environ["GRADIO_TEMP_DIR"] = str(uploads)
    app = FastAPI(title="Triptych", docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(media_router(studio))
    app.middleware("http")(_same_site)
    page = build_page(studio)
    # Mounted, Gradio 6.31 believes that it is not launched yet and then takes any path of this machine for an upload.
    page.has_launched = True
    served: FastAPI = gr.mount_gradio_app(
        app,
        page,
        path="/",
        root_path=root_path or None,
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
    return served


def serve(studio: Studio, host: str, port: int, root_path: str = "") -> None:
    """Serve in the foreground; port 0 takes a free one. Standard error says the address once it answers."""
    # Whoever reaches the page could otherwise index any folder of this machine.
    studio.settings = replace(studio.settings, folders_allowed=studio.settings.folders_allowed and _loopback(host))
    app = make_app(studio, root_path)
    if _loopback(host) and not root_path:  # a foreign name that resolves to this machine is an attack (DNS rebinding)
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1", "[::1]", host])
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=2
    )
    server = _Announcing(config)
    studio.welcome()
    try:
        server.run()
    finally:
        studio.close()


async def _same_site(request: Request, forward: Callable[[Request], Awaitable[Response]]) -> Response:
    """Refuse what another website makes a browser send here: only the page itself changes the library."""
    if request.method not in ("GET", "HEAD", "OPTIONS") and request.headers.get("sec-fetch-site") == "cross-site":
        return PlainTextResponse("Requests from other sites are refused.", 403)
    return await forward(request)


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Announcing(uvicorn.Server):
    """Says where it listens once it does, because with port 0 nobody else knows."""

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in self.servers:
            for bound in listener.sockets:
                host, port = bound.getsockname()[:2]
                name = f"[{host}]" if ":" in host else host
                sys.stderr.write(f"Triptych listens on http://{name}:{port}\n")
        sys.stderr.flush()
