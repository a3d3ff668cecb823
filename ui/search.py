"""The Search tab: what is asked, which answers count, the answers, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from index.types import Kind
from ui.handlers import Screen, SearchHandlers, Shown
from ui.studio import MAX_RESULTS, Studio
from ui.uploads import uploaded_path
from ui.words import ON_CLICK, PLURAL

PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}


@dataclass(frozen=True)
class SearchTab:
    """Parts of the tab that other parts of the page need."""

    words: gr.Textbox
    results: gr.HTML
    shown: gr.State
    handlers: SearchHandlers

    def welcome(self) -> str:
        """What the tab shows before a question."""
        return self.handlers.empty()


def build_search(studio: Studio) -> SearchTab:
    """Lay the tab out and bind its events."""
    handlers = SearchHandlers(studio)
    with gr.Row(elem_id="ask", equal_height=True):
        words = gr.Textbox(
            label="Search words",
            placeholder="Search in words, or drop a picture or a sound here",
            elem_id="words",
            show_label=False,
            container=False,
            autofocus=True,
            scale=8,
            max_lines=1,
        )
        gr.Button("Picture", elem_id="show-picture", scale=0, min_width=88)
        gr.Button("Sound", elem_id="show-sound", scale=0, min_width=88)
        go = gr.Button("Search", variant="primary", elem_id="go", scale=0, min_width=96)
    with gr.Row(elem_id="attach"):
        image = gr.Image(
            label="Picture",
            type="filepath",
            image_mode=None,
            sources=["upload", "clipboard", "webcam"],
            height=168,
            elem_id="ask-picture",
            buttons=[],
        )
        audio = gr.Audio(
            label="Sound",
            type="filepath",
            sources=["upload", "microphone"],
            elem_id="ask-sound",
            buttons=[],
            editable=False,
            waveform_options=gr.WaveformOptions(waveform_color="#8aa0b8", waveform_progress_color="#0072b2"),
        )
    image.preprocess = uploaded_path  # type: ignore[method-assign]
    with gr.Row(elem_id="options"):
        kinds = gr.CheckboxGroup(
            [(PLURAL[kind], str(kind)) for kind in Kind],
            value=[str(kind) for kind in Kind],
            label="Kinds",
            elem_id="kinds",
            scale=0,
            min_width=0,
        )
        number = gr.Number(
            12, label="Results", minimum=1, maximum=MAX_RESULTS, precision=0, elem_id="number", scale=0, min_width=140
        )
        clear = gr.Button("Clear", elem_id="clear", scale=0, min_width=72, size="sm")
    notice = gr.HTML(elem_id="notice", js_on_load=ON_CLICK, apply_default_css=False)
    stages = gr.HTML(elem_id="stages", apply_default_css=False, js_on_load=None)
    results = gr.HTML(elem_id="results", js_on_load=ON_CLICK, apply_default_css=False)
    shown = gr.State(Shown())
    _bind(handlers, [words, image, audio, kinds, number], [notice, stages, results, shown], (go, clear))
    return SearchTab(words, results, shown, handlers)


def _bind(handlers: SearchHandlers, asked: list[Any], drawn: list[Any], buttons: tuple[gr.Button, gr.Button]) -> None:
    words, image, audio, kinds, number = asked
    notice, _, results, shown = drawn
    go, clear = buttons

    def search(
        words: str, image: str | None, audio: str | None, kinds: list[str], number: float | None
    ) -> tuple[Any, ...]:
        return _parts(handlers.search(words, image, audio, kinds, number))

    def refine(shown: Shown, *asked: Any) -> tuple[Any, ...]:
        """The same question with other kinds or another number of results."""
        if shown.answer and shown.answer.question.like is not None:
            return _parts(handlers.like(shown.answer.question.like, asked[3], asked[4]))
        return search(*asked)

    def like(kinds: list[str], number: float | None, event: gr.EventData) -> tuple[Any, ...]:
        return _parts(handlers.like(int(event.id), kinds, number))

    def delete(shown: Shown, event: gr.EventData) -> tuple[Any, ...]:
        return _parts(handlers.delete(shown, int(event.id)))

    def example(event: gr.EventData) -> str:
        return str(event.words)

    def cleared() -> tuple[Any, ...]:
        return ("", None, None, *_parts(handlers.welcome()))

    gr.on(
        [words.submit, go.click, image.upload, audio.upload, audio.stop_recording],
        search,
        asked,
        drawn,
        **PRIVATE,
        concurrency_limit=4,
    )
    gr.on([kinds.change, number.change], refine, [shown, *asked], drawn, **PRIVATE, concurrency_limit=4)
    results.like(like, [kinds, number], drawn, **PRIVATE)
    results.delete(delete, [shown], drawn, **PRIVATE)
    results.example_select(example, None, [words], **PRIVATE).then(search, asked, drawn, **PRIVATE)
    notice.undo(lambda shown: _parts(handlers.undo(shown)), [shown], drawn, **PRIVATE)
    clear.click(cleared, None, [words, image, audio, *drawn], **PRIVATE)


def _parts(screen: Screen) -> tuple[Any, ...]:
    return screen.notice, screen.stages, screen.results, screen.shown
