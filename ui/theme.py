"""Look of the page that Gradio needs to know: fonts of the machine (none is fetched), calm greys, small radii."""

from __future__ import annotations

import inspect
from pathlib import Path

import gradio as gr

ASSETS = Path(__file__).resolve().parent.parent / "assets"
SANS = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "DejaVu Sans", "sans-serif")
# Gradio confines style.css to what stands above the footer.
FOOT = "footer :is(button, a, .divider) { color: var(--soft) !important; opacity: 1 !important; }"
MONO = ("ui-monospace", "Consolas", "DejaVu Sans Mono", "monospace")


# Colours are those of style.css, where both themes define the same names; so each holds for `..._dark` too.
LOOK = {
    "body_background_fill": "var(--page)",
    "body_text_color": "var(--ink)",
    "block_background_fill": "transparent",
    "block_border_width": "0px",
    "block_label_background_fill": "transparent",
    "block_shadow": "none",
    "input_background_fill": "var(--panel)",
    "input_border_color": "var(--line)",
    "button_primary_background_fill": "var(--accent)",
    "button_primary_background_fill_hover": "var(--accent-strong)",
    "button_primary_text_color": "var(--on-accent)",
    "button_secondary_background_fill": "var(--panel)",
    "button_border_width": "1px",
    "button_secondary_border_color": "var(--line-strong)",
    "button_secondary_background_fill_hover": "var(--page)",
    "button_secondary_text_color": "var(--ink)",
    "checkbox_background_color": "var(--panel)",
    "input_placeholder_color": "var(--soft)",
    "block_label_text_color": "var(--soft)",
    "block_title_text_color": "var(--soft)",
    "body_text_color_subdued": "var(--soft)",
    "block_info_text_color": "var(--soft)",
}


def theme() -> gr.themes.Base:
    """Base theme on system fonts with the colours of style.css."""
    fonts = [gr.themes.Font(name) for name in SANS]
    mono = [gr.themes.Font(name) for name in MONO]
    base = gr.themes.Base(
        primary_hue="slate",
        neutral_hue="slate",
        text_size="md",
        spacing_size="sm",
        radius_size="sm",
        font=fonts,
        font_mono=mono,
    )
    known = inspect.signature(base.set).parameters
    return base.set(**LOOK, **{f"{name}_dark": value for name, value in LOOK.items() if f"{name}_dark" in known})


def page_head() -> str:
    """Script of the page (keys, paste, drop), inline because it is small and must work offline."""
    script = (ASSETS / "page.js").read_text(encoding="utf-8")
    return f"<style>{FOOT}</style><script>{script}</script>"
