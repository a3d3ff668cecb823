"""Serve the page: Gradio in a FastAPI app of ours, which hands out media by item id and says that it is alive."""

from __future__ import annotations

import errno
import ipaddress
import logging
import os
import socket
import sys
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace

import gradio as gr
import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import PlainTextResponse, Response

from embedding.errors import TriptychError
from ui.inputs import speak_plainly
from ui.layout import build_page
from ui.media import media_router
from ui.studio import Studio
from ui.theme import ASSETS, page_head, theme
from ui.uploads import sweep

MAX_UPLOAD = "2gb"


def make_app(studio: Studio, root_path: str = "") -> FastAPI:
    """The whole application: page, media, health."""
    sweep((studio.settings.uploads, studio.settings.incoming))
    # Of this process alone: Gradio empties it at the end, and another server may use the same library.
    uploads = studio.settings.uploads / uuid.uuid4().hex
    uploads.mkdir(parents=True)
    # Gradio takes this from the environment only; its default is one folder for all users of the machine.
    os.environ["GRADIO_TEMP_DIR"] = str(uploads)
    app = FastAPI(title="Triptych", docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(media_router(studio))
    app.middleware("http")(_same_site)
    page = build_page(studio)
    # Mounted, Gradio 6.31 believes that it is not launched yet and then takes any path of this machine for an upload.
    page.has_launched = True
    speak_plainly(page)
    logging.getLogger("uvicorn.error").addFilter(_is_fault)
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
    try:
        listeners = listen(host, port)
        app = make_app(studio, root_path)
    except BaseException:
        studio.close()
        raise
    if _loopback(host) and not root_path:  # a foreign name that resolves to this machine is an attack (DNS rebinding)
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1", "[::1]", host])
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=2
    )
    server = _Announcing(config)
    studio.welcome()
    try:
        server.run(sockets=listeners)
    finally:
        studio.close()


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets on every address of the host, all with the same port. TriptychError says why there is none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise TriptychError(
            f"There is no address {host!r} on this machine: {error}; choose another with --host."
        ) from None
    listeners: list[socket.socket] = []
    reason = ""
    for family, *_, address in dict.fromkeys(found):
        place = (address[0], listeners[0].getsockname()[1] if listeners else port, *address[2:])
        try:
            listeners.append(socket.create_server(place, family=family))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:  # as ::1 is where IPv6 is off
                reason = f"{host} is not an address of this machine; choose another with --host"
                continue
            for listener in listeners:
                listener.close()
            fault = "taken" if error.errno == errno.EADDRINUSE else "not usable"
            told = os.strerror(error.errno) if error.errno else error
            raise TriptychError(f"port {port} is {fault}: {told}; choose another with --port.") from None
    if not listeners:
        raise TriptychError(f"{reason}.")
    return listeners


def _is_fault(record: logging.LogRecord) -> bool:
    """False for an answer like 404 that Gradio gives after its stream of events began: nothing broke."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error and error.__cause__, HTTPException)


async def _same_site(request: Request, forward: Callable[[Request], Awaitable[Response]]) -> Response:
    """Refuse what another website makes a browser send here. A script sends no Origin and is served.

    Gradio would allow any origin to read its answers when the host is not this machine alone.
    """
    changes = request.method not in ("GET", "HEAD", "OPTIONS")
    foreign = changes and request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    origin = request.headers.get("origin")
    if origin is not None:
        # A browser lets no website set these two; the second is the name that a proxy was asked for.
        hosts = [request.headers.get(name, "").lower() for name in ("host", "x-forwarded-host")]
        foreign = foreign or origin.lower().partition("://")[2] not in filter(None, hosts)
    if foreign:
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

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in self.servers:
            for bound in listener.sockets:
                host, port = bound.getsockname()[:2]
                name = f"[{host}]" if ":" in host else host
                sys.stderr.write(f"Triptych listens on http://{name}:{port}\n")
        sys.stderr.flush()
