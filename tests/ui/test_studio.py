import threading
import time
from pathlib import Path

import pytest

from embedding.errors import MediaError, PackageError, SpaceError, TriptychError
from index.types import Kind
from tests.index.fakes import picture, sound
from tests.ui.conftest import names
from ui.question import Question


def test_words_find_all_kinds(filled):
    answer = filled.search(Question("red"))
    assert names(answer)[:2] == ["cherry.png", "fire.md"]
    assert {hit.item.kind for hit in answer.hits.hits} == set(Kind)
    assert names(filled.search(Question("high")))[0] == "bird.wav"


def test_a_picture_and_a_sound_find(filled, tmp_path):
    asked = picture(tmp_path / "asked.png", (0, 0, 250))
    answer = filled.search(Question(image=asked))
    assert names(answer)[0] == "sky.png"
    assert answer.hits.hits[0].score > 0.99
    assert {"decode", "vision", "search"} <= set(answer.run.stages)
    assert names(filled.search(Question(audio=sound(tmp_path / "asked.wav", (120, 0.5)))))[0] == "drum.wav"


def test_words_with_a_picture_are_one_question(filled, tmp_path):
    asked = picture(tmp_path / "asked.png", (200, 0, 0))
    hits = filled.search(Question("low", image=asked)).hits.hits
    assert {hit.item.name for hit in hits[:3]} == {"cherry.png", "fire.md", "drum.wav"}


def test_like_this_puts_the_item_first(filled):
    [item] = [item for item in filled.library.items() if item.name == "cherry.png"]
    answer = filled.search(Question(like=item.id))
    assert names(answer)[0] == "cherry.png"
    assert answer.hits.hits[0].score == pytest.approx(1.0, abs=1e-5)
    assert filled.latency.last(filled.setup) is None, "no tower ran, so it is not compared with searches that run one"


def test_kinds_and_number_of_results(filled):
    answer = filled.search(Question("red", kinds=frozenset({Kind.DOCUMENT}), k=1))
    assert names(answer) == ["fire.md"]
    assert len(filled.search(Question("red", k=4)).hits.hits) == 4


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (Question("   "), "Nothing was asked"),
        (Question(image=Path("a.png"), audio=Path("b.wav")), "cannot be asked together"),
        (Question(image=Path("missing.png")), "The picture is not a file"),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(filled, question, told):
    with pytest.raises(TriptychError, match=told):
        filled.search(question)


def test_a_damaged_picture_says_so(filled, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\nand nothing more")
    with pytest.raises(MediaError, match="The picture is"):
        filled.search(Question(image=broken))


def test_the_first_search_after_warming_is_steady(filled):
    filled.welcome()
    for job in filled.jobs.active():
        assert job.over.wait(10)
    assert not filled.search(Question("red")).run.cold
    assert filled.latency.figures(filled.setup)["total"].n == 1


def test_skipped_files_are_counted_with_reasons(studio, tmp_path):
    folder = tmp_path / "mixed"
    picture(folder / "good.png", "red")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "table.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    job = studio.add([folder], "mixed")
    assert job.over.wait(10)
    assert job.counts == {"added": 1, "skipped": 2}
    assert {Path(entry.path).name: entry.reason for entry in job.skipped}.keys() == {"empty.txt", "table.xls"}
    assert all(entry.reason for entry in job.skipped)


def test_an_ingest_can_be_cancelled_and_keeps_what_it_reported(studio, tmp_path):
    folder = tmp_path / "many"
    for number in range(40):
        picture(folder / f"{number}.png", (number, 0, 0))
    studio.embedder.delay = 0.02
    job = studio.add([folder], "many")
    while job.done < 3:
        time.sleep(0.005)
    studio.jobs.cancel(job.id)
    assert job.over.wait(10)
    assert job.state == "cancelled"
    assert len(studio.library.items(limit=None)) == job.counts["added"] < 40


def test_ingests_run_one_after_another(studio, files, tmp_path):
    studio.embedder.delay = 0.02
    first, second = studio.add([files], "first"), studio.add([files], "second")
    assert second.state == "waiting"
    assert first.over.wait(10) and second.over.wait(10)
    assert second.counts == {"unchanged": 6}


def test_the_first_start_adds_the_samples_once(studio, files):
    object.__setattr__(studio.settings, "samples", files)
    studio.welcome()
    for job in studio.jobs.active():
        assert job.over.wait(10)
    assert sum(studio.library.count().values()) == 6
    studio.remove([item.id for item in studio.library.items(limit=None)])
    studio.welcome()
    assert not studio.jobs.active("ingest"), "a person who deleted the samples does not want them back"


def test_remove_and_restore(filled):
    item = filled.search(Question("red")).hits.hits[0].item
    assert filled.remove([item.id, 999]) == [item.id]
    assert item.name not in names(filled.search(Question("red")))
    filled.restore([item.id])
    assert names(filled.search(Question("red")))[0] == item.name


class TestSwitch:
    def test_another_precision_of_the_same_space_keeps_the_index(self, filled):
        filled.switch("shades", "int8", "CPU", lambda step: None)
        assert filled.embed_pending().over.wait(10)
        filled.switch("shades", "fp16", "CPU", lambda step: None)
        assert str(filled.setup) == "shades · fp16 · CPU"
        assert filled.pending() == 0
        assert names(filled.search(Question("red")))[0] == "cherry.png"

    def test_the_old_embedder_is_closed_and_the_new_one_probed(self, filled):
        old, steps = filled.embedder, []
        filled.switch("shades", "int8", "CPU", steps.append)
        assert old.closed
        assert filled.embedder.calls >= 3
        assert steps == ["load shades int8 on CPU", "probe text", "probe picture", "probe sound", "swap"]

    def test_another_space_tells_what_is_pending_and_embeds_on_demand(self, filled):
        filled.switch("shades", "int8", "CPU", lambda step: None)
        assert filled.pending() == 6
        with pytest.raises(SpaceError):
            filled.search(Question("red"))
        job = filled.embed_pending()
        assert job.over.wait(10)
        assert (job.done, job.total, filled.pending()) == (6, 6, 0)
        assert names(filled.search(Question("red")))[0] == "cherry.png"

    @pytest.mark.parametrize(
        ("model", "device", "error"),
        [("broken", "CPU", "failed its probe"), ("embeddinggemma-2", "CPU", "No package"), ("shades", "NPU", "NPU")],
    )
    def test_a_failure_keeps_the_old_one(self, filled, model, device, error):
        old = filled.embedder
        with pytest.raises(TriptychError, match=error):
            filled.switch(model, "int8", device, lambda step: None)
        assert filled.embedder is old and not old.closed
        assert str(filled.setup) == "colours · int8 · CPU"
        assert names(filled.search(Question("red")))[0] == "cherry.png"
        assert all(one.closed for one in filled.engines.loaded), "what did not pass is released"

    def test_a_precision_that_is_not_there_gives_one_that_is(self, filled):
        filled.switch("colours", "fp32", "CPU", lambda step: None)
        assert filled.setup.precision == "int8"

    def test_the_newest_choice_wins_and_searches_are_answered_meanwhile(self, filled):
        gate = threading.Event()
        load = filled.engines.load
        filled.engines.load = lambda *args: (gate.wait(10), load(*args))[1]
        first = filled.start_switch("shades", "int8", "CPU")
        assert (filled.wanted.model, filled.setup.model) == ("shades", "colours")
        second = filled.start_switch("shades", "fp16", "CPU")
        assert names(filled.search(Question("red")))[0] == "cherry.png"
        gate.set()
        assert first.over.wait(10) and second.over.wait(10)
        assert (first.state, second.state) == ("cancelled", "done")
        assert str(filled.setup) == str(filled.wanted) == "shades · fp16 · CPU"
        assert [one.closed for one in filled.engines.loaded] == [True, False]

    def test_searches_and_an_ingest_go_on_through_many_switches(self, filled, tmp_path):
        """The fake fails when it is used after close, and so would this test."""
        folder = tmp_path / "more"
        for number in range(60):
            picture(folder / f"{number}.png", (0, number, 0))
        faults, stop = [], threading.Event()

        def ask():
            while not stop.is_set():
                try:
                    assert names(filled.search(Question("red")))[0] == "cherry.png"
                except Exception as error:  # noqa: BLE001  whatever it is, the test fails
                    faults.append(error)
                    return

        filled.switch("shades", "int8", "CPU", lambda step: None)
        assert filled.embed_pending().over.wait(10)
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        job = filled.add([folder], "more")
        for number in range(20):
            filled.switch("shades", "fp16" if number % 2 else "int8", "CPU", lambda step: None)
        assert job.over.wait(30)
        stop.set()
        for thread in threads:
            thread.join()
        assert not faults
        assert job.counts == {"added": 60}
        assert sum(not one.closed for one in filled.engines.loaded) == 1


def test_choices_say_why_something_cannot_be_chosen(studio):
    assert {choice.value: choice.reason for choice in studio.choices().devices}["GPU"] == "being looked for"
    studio.find_devices()
    offered = studio.choices()
    reasons = {choice.value: choice.reason for choice in offered.models}
    assert reasons == {"colours": "", "shades": "", "broken": "", "embeddinggemma-2": "not downloaded"}
    assert {choice.value: choice.reason for choice in offered.precisions}["fp16"] == "no such package"
    assert {choice.value: bool(choice.reason) for choice in offered.devices} == {
        "CPU": False,
        "AUTO": False,
        "GPU": True,
        "NPU": True,
    }


def test_a_download_that_fails_says_what_to_do(studio):
    job = studio.start_pull("embeddinggemma-2", "int8")
    assert job.over.wait(10)
    assert job.state == "failed"
    assert "python app.py models pull embeddinggemma-2" in job.message
    with pytest.raises(PackageError):
        studio.engines.load("embeddinggemma-2", "int8", "CPU")
