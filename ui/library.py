"""The Library tab: add files and folders, watch the jobs, look through what is there, delete with undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from index.types import Kind
from ui.library_handlers import LibraryHandlers
from ui.search import EACH_CLICK, PRIVATE
from ui.studio import Studio
from ui.table import View
from ui.uploads import take_uploads, uploads
from ui.words import ON_CLICK, PLURAL

# The table adds: select one, select all, and delete what is selected.
ON_TABLE = (
    ON_CLICK
    + """
const boxes = () => [...element.querySelectorAll('tbody input[type=checkbox]')];
const show = () => {
  const chosen = boxes().filter((box) => box.checked).length;
  const button = element.querySelector('[data-delete]');
  if (button) { button.disabled = !chosen; button.textContent = chosen ? `Delete ${chosen}` : 'Delete'; }
};
element.addEventListener('change', (event) => {
  if (event.target.matches('thead input')) boxes().forEach((box) => { box.checked = event.target.checked; });
  show();
});
element.addEventListener('click', (event) => {
  if (event.target.closest('[data-delete]'))
    trigger('delete', {ids: boxes().filter((box) => box.checked).map((box) => box.value)});
});
watch('value', () => {
  element.querySelectorAll('input[type=checkbox]').forEach((box) => { box.checked = false; });
  show();
});
show();
"""
)


@dataclass(frozen=True)
class LibraryTab:
    """Parts of the tab that the clock of the page draws."""

    tray: gr.HTML
    table: gr.HTML
    filters: list[Any]


def build_library(studio: Studio) -> LibraryTab:
    """Lay the tab out and bind its events."""
    handlers = LibraryHandlers(studio)
    adding = _adding(studio.settings.folders_allowed)
    tray = gr.HTML(elem_id="tray", js_on_load=ON_CLICK, apply_default_css=False)
    notice = gr.HTML(elem_id="library-notice", js_on_load=ON_CLICK, apply_default_css=False)
    filters = [*_filters(), gr.State(View())]
    table = gr.HTML(elem_id="table", js_on_load=ON_TABLE, apply_default_css=False)
    _bind_adding(handlers, adding, tray, notice)
    _bind_table(handlers, filters, table, notice)
    return LibraryTab(tray, table, filters)


def _adding(folders_allowed: bool) -> tuple[gr.File, gr.Textbox, gr.Button, gr.Button]:
    refusal = None if folders_allowed else "Only when the app listens on this machine alone; upload files instead."
    with gr.Row(elem_id="adding"):
        drop = gr.File(label="Add files", file_count="multiple", elem_id="drop", height=150, scale=3)
        take_uploads(drop, uploads)
        with gr.Column(scale=2, elem_id="folder-side"):
            folder = gr.Textbox(
                label="Folder or file on this machine",
                placeholder="/home/me/pictures",
                elem_id="folder",
                max_lines=1,
                interactive=folders_allowed,
                info=refusal,
            )
            with gr.Row():
                add = gr.Button("Add folder", elem_id="add-folder", size="sm", interactive=folders_allowed)
                samples = gr.Button("Add the sample library", elem_id="add-samples", size="sm")
    return drop, folder, add, samples


def _filters() -> tuple[gr.Radio, gr.Textbox]:
    kinds = [("all", ""), *((PLURAL[kind], str(kind)) for kind in Kind)]
    with gr.Row(elem_id="filters"):
        kind = gr.Radio(kinds, value="", label="Kind", elem_id="kind-filter", scale=0, min_width=0)
        text = gr.Textbox(
            label="Name contains",
            placeholder="Name contains",
            show_label=False,
            container=False,
            max_lines=1,
            elem_id="name-filter",
        )
    return kind, text


def _bind_adding(handlers: LibraryHandlers, adding: tuple[Any, ...], tray: gr.HTML, notice: gr.HTML) -> None:
    drop, folder, add, samples = adding

    def stop(event: gr.EventData) -> str:
        return handlers.cancel(int(event.job))

    def dismiss(event: gr.EventData) -> str:
        return handlers.dismiss(int(event.job))

    drop.upload(handlers.add_uploads, [drop], [drop, tray], **PRIVATE)
    gr.on([add.click, folder.submit], handlers.add_folder, [folder], [folder, tray, notice], **PRIVATE)
    samples.click(handlers.add_samples, None, [tray], **PRIVATE)
    tray.stop(stop, None, [tray], **EACH_CLICK)
    tray.clear(dismiss, None, [tray], **EACH_CLICK)


def _bind_table(handlers: LibraryHandlers, filters: list[Any], table: gr.HTML, notice: gr.HTML) -> None:
    kind, text, view = filters
    deleted = gr.State(())

    def sort(kind: str, text: str, view: View, event: gr.EventData) -> tuple[str, View]:
        return handlers.sort(kind, text, view, str(event.order))

    def page(kind: str, text: str, view: View, event: gr.EventData) -> tuple[str, View]:
        return handlers.page(kind, text, view, int(event.offset))

    def delete(kind: str, text: str, view: View, event: gr.EventData) -> tuple[str, str, tuple[int, ...]]:
        return handlers.delete(kind, text, view, [int(item) for item in event.ids])

    gr.on([kind.change, text.change], handlers.filter, filters, [table, view], **PRIVATE, trigger_mode="always_last")
    table.select(sort, filters, [table, view], **PRIVATE)
    table.expand(page, filters, [table, view], **PRIVATE)
    table.delete(delete, filters, [table, notice, deleted], **PRIVATE)
    notice.undo(handlers.undo, [*filters, deleted], [table, notice, deleted], **PRIVATE)
