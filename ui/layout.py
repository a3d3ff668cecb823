"""The page: the bar over every tab, the tabs, and the clock that draws what changed in the background."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import gradio as gr

from ui import bar
from ui.about import about
from ui.api import build_api
from ui.handlers import SearchHandlers
from ui.library import LibraryTab, build_library
from ui.library_handlers import LibraryHandlers
from ui.search import EACH_CLICK, PRIVATE, SearchTab, build_search
from ui.studio import Studio
from ui.table import View
from ui.tray import banner, tray
from ui.words import ON_CLICK

TICK = 0.7  # seconds between two looks at what changed


@dataclass(frozen=True)
class Frame:
    """Parts of the page that stand outside the tabs."""

    bar: gr.HTML
    banner: gr.HTML
    about: gr.HTML


def build_page(studio: Studio) -> gr.Blocks:
    """All of it, over one studio."""
    page: gr.Blocks
    with gr.Blocks(title="Triptych", analytics_enabled=False, fill_width=True, delete_cache=(600, 3600)) as page:
        build_api(studio)  # first, because later functions of the same name get a number behind theirs
        top = gr.HTML(elem_id="bar", js_on_load=bar.ON_LOAD, apply_default_css=False)
        offer = gr.HTML(elem_id="banner", js_on_load=ON_CLICK, apply_default_css=False)
        with gr.Tabs(elem_id="tabs") as tabs:
            with gr.Tab("Search", id="search"):
                search = build_search(studio, top)
            with gr.Tab("Library", id="library", render_children=True):
                library = build_library(studio)
            with gr.Tab("About", id="about", render_children=True) as about_tab:
                facts = gr.HTML(elem_id="about", js_on_load=ON_CLICK, apply_default_css=False)
        frame = Frame(top, offer, facts)
        about_tab.select(lambda: _about(studio), None, [facts], **PRIVATE)
        _bind_bar(studio, frame)
        _bind_clock(studio, page, frame, search, library)
        search.greeting.expand(lambda: gr.Tabs(selected="library"), None, [tabs], **PRIVATE)
    page.queue(default_concurrency_limit=8)
    return page


def _about(studio: Studio) -> str:
    """The tab over what lies in the models folder now: a package may have been put there by hand."""
    studio.packages(refresh=True)
    studio.jobs.touch()
    return about(studio)


def _bind_bar(studio: Studio, frame: Frame) -> None:
    def choose(event: gr.EventData) -> str:
        """A drop-down was changed: switch in the background, everything else as it is."""
        studio.start_switch(**{**asdict(studio.wanted), str(event.field): str(event.value)})
        return bar.bar(studio)

    def pull(event: gr.EventData) -> str:
        data = event._data
        studio.start_pull(str(data.get("model", studio.offered)), str(data.get("precision", "int8")))
        return banner(studio)

    def use() -> str:
        studio.start_switch(studio.offered, "int8", studio.setup.device)
        return bar.bar(studio)

    def embed() -> str:
        studio.embed_pending()
        return banner(studio)

    def stop(event: gr.EventData) -> str:
        studio.jobs.cancel(int(event.job))
        return banner(studio)

    frame.bar.select(choose, None, [frame.bar], **EACH_CLICK)
    for part in (frame.banner, frame.about):
        part.download(pull, None, [frame.banner], **PRIVATE)
    frame.banner.apply(use, None, [frame.bar], **PRIVATE)
    frame.banner.submit(embed, None, [frame.banner], **PRIVATE)
    frame.banner.stop(stop, None, [frame.banner], **PRIVATE)


def _bind_clock(studio: Studio, page: gr.Blocks, frame: Frame, search: SearchTab, library: LibraryTab) -> None:
    handlers = LibraryHandlers(studio)
    seen = gr.State(-1)
    items = gr.State(-1)
    greeting = SearchHandlers(studio).greeting
    drawn = [frame.bar, frame.banner, search.greeting, library.tray, library.table, seen, items]

    def draw(kind: str, text: str, view: View, seen_revision: int, seen_items: int) -> list[Any]:
        """What changed since this page last looked; nothing when nothing did."""
        revision, number = studio.jobs.revision, sum(studio.library.count().values())
        if revision == seen_revision:
            return [gr.skip()] * len(drawn)
        table = gr.skip() if number == seen_items else handlers.table(kind, text, view)
        return [bar.bar(studio), banner(studio), greeting(), tray(studio), table, revision, number]

    def first(kind: str, text: str, view: View) -> list[Any]:
        return draw(kind, text, view, -1, -1)

    page.load(first, library.filters, drawn, **PRIVATE)
    gr.Timer(TICK).tick(draw, [*library.filters, seen, items], drawn, queue=False, **PRIVATE)
