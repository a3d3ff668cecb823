"""The page. `build` makes it, `launch` serves it; importing this costs nothing, gradio is loaded when one of them is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import gradio as gr

    from ui.studio import Studio


def build(studio: Studio) -> gr.Blocks:
    """The page over a studio, not yet served."""
    from ui.layout import build_page

    return build_page(studio)


def launch(studio: Studio, host: str = "127.0.0.1", port: int = 7860) -> None:
    """Serve the page until the process is told to stop."""
    from ui.server import serve

    serve(studio, host, port)
