import re
from pathlib import Path

import pytest

from index.types import Kind
from tests.index.fakes import picture, text
from ui import cards
from ui.about import about
from ui.bar import bar
from ui.handlers import OVERALL, SearchHandlers, Shown, Wanted, kinds_of
from ui.library_handlers import LibraryHandlers
from ui.table import View
from ui.tray import banner, tray
from ui.uploads import Upload, staged
from ui.words import clock, milliseconds, safe, size

ALL = [str(kind) for kind in Kind]


@pytest.fixture
def search(filled):
    return SearchHandlers(filled)


@pytest.fixture
def shelf(filled):
    return LibraryHandlers(filled)


def shown_names(html):
    return re.findall(r'<div class="name"[^>]*>([^<]*)</div>', html)


class TestSearch:
    def test_an_answer_has_cards_and_the_cost_of_each_stage(self, search):
        screen = search.search("red", None, None, Wanted(ALL, 3))
        assert shown_names(screen.results)[:2] == ["cherry.png", "fire.md"]
        assert re.search(r'data-kind="image" data-score="0\.9\d+".*?class="score"[^>]*>0\.9\d\d<', screen.results)
        assert "A red, red flame." in screen.results
        for stage in ("decode", "vision", "audio", "text", "search", "total"):
            assert stage in screen.stages

    def test_nothing_asked_shows_the_greeting(self, search):
        screen = search.search("  ", None, None, Wanted(ALL, 12))
        assert (screen.results, screen.stages, screen.shown) == ("", "", Shown())
        assert "Try" in search.greeting()

    def test_an_empty_library_says_what_to_do(self, studio):
        assert "Load the sample library" in SearchHandlers(studio).greeting()

    def test_a_fault_is_said_in_place(self, search, tmp_path):
        broken = tmp_path / "x.png"
        broken.write_bytes(b"no picture")
        screen = search.search("", str(broken), None, Wanted(ALL, 12))
        assert 'role="alert"' in screen.results and "The picture is not a picture" in screen.results

    def test_no_kind_chosen_means_all(self, search):
        assert kinds_of([]) == frozenset(Kind)
        assert len(shown_names(search.search("red", None, None, Wanted([], 12)).results)) == 6

    def test_the_order_of_each_kind_shows_all_kinds_and_the_other_the_best(self, search, files):
        for number in range(8):
            picture(files / "more" / f"{number}.png", (255, number, 0))
        assert search.studio.add([files / "more"], "more").over.wait(10)
        each = search.search("red", None, None, Wanted(ALL, 3))
        assert re.findall(r'data-kind="(\w+)"', each.results) == ["image", "document", "audio"]
        overall = search.search("red", None, None, Wanted(ALL, 3, OVERALL))
        assert re.findall(r'data-kind="(\w+)"', overall.results) == ["image"] * 3

    def test_kinds_filter(self, search):
        assert shown_names(search.search("red", None, None, Wanted(["audio"], 12)).results) == ["bird.wav", "drum.wav"]

    @pytest.mark.parametrize("k", [0, None, 1e9, -4])
    def test_a_strange_number_of_results_is_brought_into_range(self, search, k):
        assert 1 <= len(shown_names(search.search("red", None, None, Wanted(ALL, k)).results)) <= 6

    def test_delete_and_undo(self, search):
        screen = search.search("red", None, None, Wanted(ALL, 12))
        item = screen.shown.answer.hits.hits[0].item
        screen = search.delete(screen.shown, item.id)
        assert "Deleted 1 item" in screen.notice and "Undo" in screen.notice
        assert "cherry.png" not in shown_names(screen.results)
        assert "cherry.png" not in shown_names(search.search("red", None, None, Wanted(ALL, 12)).results)
        screen = search.undo(screen.shown)
        assert shown_names(screen.results)[0] == "cherry.png"
        assert shown_names(search.search("red", None, None, Wanted(ALL, 12)).results)[0] == "cherry.png"

    def test_like_this(self, search):
        item = search.search("red", None, None, Wanted(ALL, 12)).shown.answer.hits.hits[0].item
        screen = search.like(item.id, Wanted(["document"]))
        assert shown_names(screen.results)[0] == "fire.md"
        assert "nearest to cherry.png" in screen.results

    def test_items_without_vectors_are_told(self, search):
        search.studio.switch("shades", "int8", "CPU", lambda step: None)
        screen = search.search("red", None, None, Wanted(ALL, 12))
        assert 'role="alert"' in screen.results and "button" in screen.results
        assert "6 items not embedded for Shades (fake) yet" in banner(search.studio)


def test_what_users_write_never_becomes_html(studio, tmp_path):
    evil = "<img src=x onerror=alert(1)>\"'&${alert(1)}{{x}}"
    name = "<b>&'\"$ {{x}}.md"
    text(tmp_path / "evil" / name, f"red {evil}\n")
    assert studio.add([tmp_path / "evil"], "<i>job</i>").over.wait(10)
    search, shelf = SearchHandlers(studio), LibraryHandlers(studio)
    for html in (
        search.search("red", None, None, Wanted(ALL, 12)).results,
        shelf.table("", "", View()),
        tray(studio),
    ):
        assert not [raw for raw in (evil, name, "<i>job</i>", "<img src=x") if raw in html]
    assert safe(evil) in search.search("red", None, None, Wanted(ALL, 12)).results
    assert safe(name) in shelf.table("", "", View())


def test_names_that_are_no_text_can_be_shown(studio, tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "caf\udce9.txt").write_text("red")
    assert studio.add([folder], "odd").over.wait(10)
    LibraryHandlers(studio).table("", "", View()).encode()
    SearchHandlers(studio).search("red", None, None, Wanted(ALL, 12)).results.encode()


class TestLibrary:
    def test_table_counts_filters_and_orders(self, shelf):
        table = shelf.table("", "", View())
        assert table.count("<tr data-id") == 6
        assert "<b>2</b> documents" in table and "<b>2</b> pictures" in table and "<b>2</b> sounds" in table
        assert shelf.table("image", "", View()).count("<tr data-id") == 2
        assert shelf.table("", "CHERRY", View()).count("<tr data-id") == 1
        assert "No item fits" in shelf.table("", "nothing has this name", View())
        ordered, view = shelf.sort("", "", View(), "name")
        assert view.order == "name" and 'aria-sort="ascending"' in ordered
        listed = re.findall(r'rel="noopener" title="[^"]*">([^<]+)</a>', ordered)
        assert listed == sorted(listed) and len(listed) == 6

    def test_delete_and_undo(self, shelf):
        ids = [item.id for item in shelf.studio.library.items()][:2]
        table, notice, deleted = shelf.delete("", "", View(), ids)
        assert table.count("<tr data-id") == 4 and "Deleted 2 items" in notice and set(deleted) == set(ids)
        table, notice, deleted = shelf.undo("", "", View(), deleted)
        assert table.count("<tr data-id") == 6 and deleted == ()

    def test_paging(self, studio, tmp_path):
        for number in range(103):
            text(tmp_path / "many" / f"{number:03}.txt", f"red {number}")
        assert studio.add([tmp_path / "many"], "many").over.wait(30)
        shelf = LibraryHandlers(studio)
        first = shelf.table("", "", View("name"))
        assert first.count("<tr data-id") == 100 and "Next" in first and "Previous" not in first
        second, _ = shelf.page("", "", View("name"), 100)
        assert second.count("<tr data-id") == 3 and "Previous" in second and "101 to 103" in second

    def test_uploads_keep_their_names_and_are_copied(self, shelf, tmp_path):
        uploads = []
        for number, name in enumerate(["sub/évil né.png", "same.png", "same.png"]):
            path = picture(tmp_path / str(number) / "upload.png", (10 * number, 255, 0))
            uploads.append(Upload(str(path), name))
        _, html = shelf.add_uploads(uploads)
        assert "3 uploaded files" in html
        [job] = [job for job in shelf.studio.jobs.all() if job.title == "3 uploaded files"]
        assert job.over.wait(10)
        assert job.counts == {"added": 3}
        stored = {item.name for item in shelf.studio.library.items(Kind.IMAGE, "", "added", 0, 3)}
        assert stored == {"sub_évil né.png", "same.png"}
        assert not list(shelf.studio.settings.incoming.iterdir()), "what was copied does not stay"
        assert all(
            shelf.studio.settings.data_dir in path.parents
            for item in shelf.studio.library.items(Kind.IMAGE, "", "added", 0, 3)
            for path in [shelf.studio.settings.data_dir.joinpath(item.path)]
        )

    def test_an_upload_that_is_gone_does_not_hold_up_the_others(self, shelf, tmp_path):
        here = Upload(str(text(tmp_path / "up" / "here.txt", "red")), "here.txt")
        shelf.add_uploads([here, here, Upload(str(tmp_path / "up" / "gone.txt"), "gone.txt")])
        [job] = [job for job in shelf.studio.jobs.all() if job.title == "2 uploaded files"]
        assert job.over.wait(10)
        assert job.counts == {"added": 1, "skipped": 1} and "gone.txt" in job.skipped[0].path
        assert Path(here.path).exists(), "another page may have sent the same file"

    def test_a_folder_is_indexed_in_place(self, shelf, tmp_path):
        folder = tmp_path / "there"
        picture(folder / "new.png", "green")
        text_left, _, notice = shelf.add_folder(f"  {folder}  ")
        assert (text_left, notice) == ("", "")
        [job] = [job for job in shelf.studio.jobs.all() if job.title == "there"]
        assert job.over.wait(10)
        assert shelf.studio.library.items(text="new.png")[0].path == str(folder / "new.png")

    def test_a_folder_that_is_not_there_is_told(self, shelf):
        kept, _, notice = shelf.add_folder("/no/such/folder")
        assert kept == "/no/such/folder" and "There is no folder or file" in notice

    def test_paths_are_refused_when_others_can_reach_the_page(self, shelf, tmp_path):
        object.__setattr__(shelf.studio.settings, "folders_allowed", False)
        _, _, notice = shelf.add_folder(str(tmp_path))
        assert "listens on this machine alone" in notice

    def test_the_tray_tells_what_was_skipped(self, shelf, tmp_path):
        (tmp_path / "bad").mkdir()
        (tmp_path / "bad" / "empty.png").write_bytes(b"")
        shelf.add_folder(str(tmp_path / "bad"))
        [job] = [job for job in shelf.studio.jobs.all() if job.title == "bad"]
        assert job.over.wait(10)
        html = tray(shelf.studio)
        assert "1 skipped" in html and "empty.png" in html and "is empty" in html
        assert "bad" not in re.findall(r"<b>(\w+)</b>", shelf.dismiss(job.id))


def test_strange_names_of_uploads_stay_in_their_folder(tmp_path):
    sent = []
    for number, name in enumerate(["../../up.txt", "..", "", "a" * 400, "x\x00y", "\\win\\name.txt"]):
        (tmp_path / f"in{number}").write_text("x")
        sent.append(Upload(str(tmp_path / f"in{number}"), name))
    files = staged(sent, tmp_path / "staging")
    assert [file.parent.name for file in files] == ["0", "1", "2", "3", "4", "5"]
    assert all(file.is_file() and file.parent.parent == tmp_path / "staging" for file in files)
    assert [file.name for file in files] == [".._.._up.txt", "in1", "in2", "in3", "x_y", "_win_name.txt"]


class TestBar:
    def test_it_tells_what_runs_and_how_fast(self, filled):
        assert "no search yet" in bar(filled)
        SearchHandlers(filled).search("red", None, None, Wanted(ALL, 12))
        SearchHandlers(filled).search("blue", None, None, Wanted(ALL, 12))
        html = bar(filled)
        assert re.search(r"last <b>[\d.]+ ms</b>", html) and "p50" in html and "p95" in html
        assert "6 items" in html and "CPU</b> f32" in html

    def test_what_cannot_be_chosen_is_listed_with_its_reason(self, filled):
        filled.find_devices()
        html = bar(filled)
        assert re.search(r'<option value="embeddinggemma-2" disabled>EmbeddingGemma 2: not downloaded</option>', html)
        assert re.search(r'<option value="GPU" disabled>GPU: not on this machine</option>', html)
        assert re.search(r'<option value="colours" selected>', html)

    def test_a_failed_switch_says_why_and_what_stays(self, filled):
        assert filled.start_switch("broken", "int8", "CPU").over.wait(10)
        assert "failed its probe" in bar(filled) and "colours · int8 · CPU stays in use" in bar(filled)


def test_the_banner_offers_the_larger_model_and_says_how_when_offline(filled):
    assert "Download it (741 MB)" in banner(filled)
    assert filled.start_pull("embeddinggemma-2", "int8").over.wait(10)
    assert "python app.py models pull embeddinggemma-2" in banner(filled) and "Try again" in banner(filled)
    filled.switch("shades", "int8", "CPU", lambda step: None)
    assert filled.embed_pending().over.wait(10)
    assert banner(filled) == ""


def test_about_lists_models_devices_and_storage(filled):
    filled.find_devices()
    html = about(filled)
    assert "not a replacement for EmbeddingGemma 2" in html
    assert "python app.py models pull embeddinggemma-2 --precision int8" in html
    assert "A fake processor" in html and str(filled.settings.data_dir) in html and "openvino" in html


def test_stages_add_up(filled):
    run = SearchHandlers(filled).search("red", None, None, Wanted(ALL, 12)).shown.answer.run
    assert sum(ms for _, ms in cards._parts(run)) == pytest.approx(run.total, abs=0.06)


@pytest.mark.parametrize(
    ("value", "text_"), [(0.04, "0.0"), (4.26, "4.3"), (9.96, "10"), (41.2, "41"), (1204.0, "1,204")]
)
def test_milliseconds(value, text_):
    assert milliseconds(value) == text_


def test_sizes_and_clocks():
    assert [size(n) for n in (0, 999, 1500, 2_500_000, 741_000_000, 1_470_000_000)] == [
        "0 B", "999 B", "2 KB", "2.5 MB", "741 MB", "1.47 GB",
    ]  # fmt: skip
    assert [clock(s) for s in (0.4, 7, 65, 3753)] == ["0:00", "0:07", "1:05", "1:02:33"]
