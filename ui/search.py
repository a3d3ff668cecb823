"""The Search tab: what is asked, which answers count, the answers, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from index.types import Kind
from ui.bar import bar
from ui.handlers import EACH, OVERALL, Screen, SearchHandlers, Shown, Wanted
from ui.studio import MAX_RESULTS, Studio
from ui.uploads import take_uploads, uploaded_path
from ui.words import ON_CLICK, PLURAL

PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
# By default Gradio drops an event while one of its kind is under way. Of questions the last counts, of clicks each.
LAST: dict[str, Any] = {**PRIVATE, "concurrency_limit": 4, "trigger_mode": "always_last"}
EACH_CLICK: dict[str, Any] = {**PRIVATE, "concurrency_limit": 1, "trigger_mode": "multiple"}


@dataclass(frozen=True)
class SearchTab:
    """Parts of the tab that other parts of the page need."""

    words: gr.Textbox
    greeting: gr.HTML


def build_search(studio: Studio, top: gr.HTML) -> SearchTab:
    """Lay the tab out and bind its events; `top` is the bar of the page, which shows what a search cost."""
    handlers = SearchHandlers(studio)
    words, go = _ask_row()
    image, audio = _attachments()
    wanted, clear = _options()
    notice = gr.HTML(elem_id="notice", js_on_load=ON_CLICK, apply_default_css=False)
    stages = gr.HTML(elem_id="stages", js_on_load=None, apply_default_css=False)
    results = gr.HTML(elem_id="results", js_on_load=ON_CLICK, apply_default_css=False)
    greeting = gr.HTML(elem_id="greeting", js_on_load=ON_CLICK, apply_default_css=False)
    asked, drawn = [words, image, audio, *wanted], [notice, stages, results, gr.State(Shown()), top]
    _bind(handlers, asked, drawn, (go, clear))
    _bind_greeting(handlers, asked, drawn, greeting)
    return SearchTab(words, greeting)


def _ask_row() -> tuple[gr.Textbox, gr.Button]:
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
    return words, go


def _attachments() -> tuple[gr.Image, gr.Audio]:
    """A picture and a sound, both as files: Gradio's arrays lose EXIF and turn 24-bit sound into noise."""
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
    take_uploads(image, uploaded_path)
    take_uploads(audio, uploaded_path)
    return image, audio


def _options() -> tuple[list[Any], gr.Button]:
    """Which answers count: kinds, number, order; and the way back to nothing asked."""
    kinds, orders = [(PLURAL[kind], str(kind)) for kind in Kind], [("best of each kind", EACH), ("combined", OVERALL)]
    slim: dict[str, Any] = {"scale": 0, "min_width": 0}
    with gr.Row(elem_id="options"):
        chosen = gr.CheckboxGroup(kinds, value=[value for _, value in kinds], label="Kinds", elem_id="kinds", **slim)
        order = gr.Radio(orders, value=EACH, label="Order", elem_id="order", **slim)
        number = gr.Number(
            12, label="Results", minimum=1, maximum=MAX_RESULTS, precision=0, elem_id="number", scale=0, min_width=140
        )
        clear = gr.Button("Clear", elem_id="clear", scale=0, min_width=72, size="sm")
    return [chosen, number, order], clear


def _bind(handlers: SearchHandlers, asked: list[Any], drawn: list[Any], buttons: tuple[gr.Button, gr.Button]) -> None:
    words, image, audio, *wanted = asked
    notice, _, results, shown, _ = drawn
    go, clear = buttons

    def search(*asked: Any) -> tuple[Any, ...]:
        return _parts(handlers, _search(handlers, *asked))

    def refine(shown: Shown, *asked: Any) -> tuple[Any, ...]:
        """The same question with other kinds, another number of results or another order."""
        if shown.answer and shown.answer.question.like is not None:
            return _parts(handlers, handlers.like(shown.answer.question.like, Wanted(*asked[3:])))
        return search(*asked)

    def like(kinds: list[str], number: float | None, order: str, event: gr.EventData) -> tuple[Any, ...]:
        return _parts(handlers, handlers.like(int(event.id), Wanted(kinds, number, order)))

    def delete(shown: Shown, event: gr.EventData) -> tuple[Any, ...]:
        return _parts(handlers, handlers.delete(shown, int(event.id)))

    def undo(shown: Shown) -> tuple[Any, ...]:
        return _parts(handlers, handlers.undo(shown))

    gr.on([words.submit, go.click], search, asked, drawn, **LAST)
    gr.on([image.input, audio.input, *(control.input for control in wanted)], refine, [shown, *asked], drawn, **LAST)
    results.like(like, wanted, drawn, **LAST)
    results.delete(delete, [shown], drawn, **EACH_CLICK)
    notice.undo(undo, [shown], drawn, **PRIVATE)
    # In the browser, at once: an answer of the server could come after the next words are typed.
    clear.click(None, None, [words, image, audio, *drawn[:3]], js="() => ['', null, null, '', '', '']", **PRIVATE)
    clear.click(lambda: Shown(), None, [shown], **PRIVATE)


def _bind_greeting(handlers: SearchHandlers, asked: list[Any], drawn: list[Any], greeting: gr.HTML) -> None:
    def example(event: gr.EventData) -> str:
        return str(event.words)

    def search(*asked: Any) -> tuple[Any, ...]:
        return _parts(handlers, _search(handlers, *asked))

    def samples() -> str:
        handlers.studio.add_samples()
        return handlers.greeting()

    def stop(event: gr.EventData) -> str:
        handlers.studio.jobs.cancel(int(event.job))
        return handlers.greeting()

    greeting.example_select(example, None, [asked[0]], **PRIVATE).then(search, asked, drawn, **PRIVATE)
    greeting.copy(samples, None, [greeting], **PRIVATE)
    greeting.stop(stop, None, [greeting], **PRIVATE)


def _search(handlers: SearchHandlers, words: str, image: str | None, audio: str | None, *wanted: Any) -> Screen:
    return handlers.search(words, image, audio, Wanted(*wanted))


def _parts(handlers: SearchHandlers, screen: Screen) -> tuple[Any, ...]:
    return screen.notice, screen.stages, screen.results, screen.shown, bar(handlers.studio)
