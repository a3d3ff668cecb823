"""The page: `build` makes it, `launch` serves it. Importing this costs nothing; gradio is loaded by a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import gradio as gr

    from ui.studio import Studio


def build(studio: Studio) -> gr.Blocks:
    """The page over a studio, not yet served."""
    from ui.layout import build_page

    return build_page(studio)


def launch(studio: Studio, host: str = "127.0.0.1", port: int = 7860, root_path: str = "") -> None:
    """Serve the page until the process is told to stop; `root_path` is where a proxy shows it."""
    from ui.server import serve

    serve(studio, host, port, root_path)
