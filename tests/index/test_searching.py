"""Answers: the right ones, in the same order every time, of the wanted kinds, with their scores."""

import numpy as np
import pytest
from PIL import Image

from embedding.errors import LibraryError, MediaError, SpaceError
from embedding.types import Audio, Media, Modality
from index import Kind, Library, Query
from index.ranking import best_by_item
from tests.index.fakes import FakeEmbedder, picture, sound, text


def ask(library, words, **options):
    return library.search(Query(Media(text=words), **options)).hits


def names(hits):
    return [hit.item.name for hit in hits]


@pytest.fixture
def filled(library, files):
    library.add_all([files])
    return library


def test_words_find_pictures_sounds_and_texts(filled):
    assert names(ask(filled, "red", k=2)) == ["cherry.png", "fire.md"]
    assert names(ask(filled, "green", k=1)) == ["grass.txt"]
    assert names(ask(filled, "high", k=1)) == ["bird.wav"]
    assert names(ask(filled, "low", k=1)) == ["drum.wav"]


def test_pictures_and_sounds_find_what_is_like_them(filled):
    hits = filled.search(Query(Media(image=Image.new("RGB", (8, 8), "blue")), k=1)).hits
    assert names(hits) == ["sky.png"]
    wave = np.sin(2 * np.pi * 3000 * np.arange(16_000) / 16_000).astype(np.float32)
    hits = filled.search(Query(Media(audio=Audio(wave, 16_000)), k=1)).hits
    assert names(hits) == ["bird.wav"]
    both = filled.search(Query(Media(text="red red", audio=Audio(wave, 16_000)), k=3)).hits
    assert {"bird.wav", "cherry.png"} <= set(names(both))


def test_hits_have_ranks_scores_segments_timings_and_space(filled, embedder):
    answer = filled.search(Query(Media(text="red"), k=4))
    assert [hit.rank for hit in answer.hits] == [1, 2, 3, 4]
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(type(score) is float and -1 <= score <= 1 for score in scores)
    assert answer.hits[0].segment.item_id == answer.hits[0].item.id
    assert list(answer.timings.ms) == ["text", "search", "rank"]
    assert (answer.space, answer.pending) == (embedder.space.key, 0)
    query = embedder.embed([Media(text="red")], "query").vectors[0]
    cherry = embedder.embed([Media(image=Image.new("RGB", (9, 9), "red"))], "document").vectors[0]
    assert scores[0] == pytest.approx(float(query @ cherry), abs=1e-5)


@pytest.mark.parametrize("kind", list(Kind))
def test_filters_come_before_the_cut(library, tmp_path, kind):
    for number in range(30):
        text(tmp_path / "f" / f"{number}.txt", f"red {number}")
    for number in range(3):
        picture(tmp_path / "f" / f"{number}.png", (0, 0, 200 + number))
        sound(tmp_path / "f" / f"{number}.wav", (100 + 10 * number, 0.2))
    library.add_all([tmp_path / "f"])
    hits = ask(library, "red", k=3, kinds=frozenset({kind}))
    assert [hit.item.kind for hit in hits] == [kind] * 3
    both = ask(library, "red", k=36, kinds=frozenset({kind, Kind.IMAGE}))
    assert {hit.item.kind for hit in both} == {kind, Kind.IMAGE}
    assert ask(library, "red", kinds=frozenset()) == ()


def test_an_item_answers_once_and_k_items_answer(library, tmp_path):
    """A book of fifty red passages does not crowd out the other items."""
    passage = "red " * 300 + "end.\n\n"
    text(tmp_path / "f" / "book.txt", passage * 50)
    for number in range(5):
        text(tmp_path / "f" / f"{number}.txt", f"red and {'blue ' * (number + 1)}")
    library.add_all([tmp_path / "f"])
    assert names(ask(library, "red", k=4)) == ["book.txt", "0.txt", "1.txt", "2.txt"]
    assert len(ask(library, "red", k=100)) == 6


def test_ties_go_to_the_older_item_in_every_store(tmp_path, embedder):
    for number in range(40):
        text(tmp_path / "f" / f"{number:02d}.txt", "green" + " " * number)
    picture(tmp_path / "f" / "zz.png", "red")
    answers = []
    for store in ("exact", "faiss"):
        with Library(tmp_path / store, embedder, store=store) as library:
            library.add_all([tmp_path / "f"])
            answers += [names(ask(library, "green", k=k)) for k in (3, 10, 40)]
            library.remove([2])
            library.restore([2])
            assert names(ask(library, "green", k=3)) == answers[0]
    assert answers[0] == ["00.txt", "01.txt", "02.txt"]
    assert answers[:3] == answers[3:]
    assert answers[2] == [f"{number:02d}.txt" for number in range(40)]


def test_more_like_this_gives_the_item_itself_first_at_one(filled, tmp_path):
    filled.add_all([picture(tmp_path / "late.png", "red"), picture(tmp_path / "later.png", (250, 0, 0))])
    late = next(item for item in filled.items() if item.name == "late.png")
    hits = filled.search(Query(like=late.id, k=3)).hits
    assert names(hits) == ["late.png", "cherry.png", "later.png"], "itself before its older twin"
    assert hits[0].score == 1.0
    assert hits[1].score == 1.0
    assert names(filled.search(Query(like=late.id, k=2, kinds=frozenset({Kind.DOCUMENT}))).hits)[0] == "fire.md"


def test_more_like_a_long_sound_uses_a_vector_of_it(library, tmp_path):
    long = sound(tmp_path / "f" / "long.wav", (100, 45), (3000, 15))
    sound(tmp_path / "f" / "low.wav", (120, 1))
    sound(tmp_path / "f" / "top.wav", (3000, 1))
    library.add_all([long.parent])
    item = next(item for item in library.items() if item.name == "long.wav")
    hits = library.search(Query(like=item.id)).hits
    assert names(hits) == ["long.wav", "low.wav", "top.wav"]
    assert (hits[0].score, hits[0].segment.ordinal) == (1.0, 0)


def test_a_removed_item_answers_no_more_and_a_restored_one_again(filled):
    cherry = ask(filled, "red", k=1)[0].item
    assert filled.remove([cherry.id, 999, cherry.id]) == [cherry.id]
    assert filled.remove([cherry.id]) == []
    assert "cherry.png" not in names(ask(filled, "red"))
    with pytest.raises(LibraryError, match="no item"):
        filled.search(Query(like=cherry.id))
    assert filled.restore([cherry.id, 999]) == [cherry.id]
    assert ask(filled, "red", k=1)[0].item == cherry


def test_a_long_question_is_asked_whole(library, tmp_path):
    """A sound of 45 s is two windows; the second finds what the first does not. The fake asserts that none is cut."""
    sound(tmp_path / "f" / "bird.wav", (3000, 1))
    sound(tmp_path / "f" / "horn.wav", (900, 1))
    library.add_all([tmp_path / "f"])
    tone = np.concatenate([np.sin(2 * np.pi * hertz * np.arange(360_000) / 16_000) for hertz in (100, 900)])
    hits = library.search(Query(Media(audio=Audio(tone.astype(np.float32), 16_000)))).hits
    assert names(hits)[0] == "horn.wav"
    assert hits[0].score > 0.99
    assert names(ask(library, "nothing " * 600 + "high " * 300))[0] == "bird.wav"


def test_questions_that_are_none_are_refused_in_words(filled):
    for query, error, words in (
        (Query(), LibraryError, "either a question"),
        (Query(Media(text="a"), like=1), LibraryError, "either a question"),
        (Query(Media(text="a"), k=0), LibraryError, "at least 1"),
        (Query(Media(text=" \n")), MediaError, "type some words"),
        (Query(Media()), MediaError, "type some words"),
        (Query(like=12345), LibraryError, "no item 12345"),
        (Query(like=10**40), LibraryError, "no item"),
    ):
        with pytest.raises(error, match=words):
            filled.search(query)


def test_a_question_that_the_model_does_not_read_is_refused(tmp_path):
    refusal = pytest.raises(MediaError, match="The question needs a model that reads image; blind reads text")
    with Library(tmp_path / "data", FakeEmbedder("blind", {Modality.TEXT})) as library, refusal:
        library.search(Query(Media(text="x", image=Image.new("RGB", (5, 5)))))


def test_a_failure_of_the_model_is_told(filled, embedder):
    embedder.broken.add("question")
    with pytest.raises(MediaError, match="The question makes the model give NaN"):
        filled.search(Query(Media(text="red", name="question")))


def test_bytes_that_are_no_text_can_be_typed(filled):
    assert names(ask(filled, "red \udcff\ud800", k=1)) == ["cherry.png"]


def test_an_empty_library_answers_with_nothing(library):
    answer = library.search(Query(Media(text="red")))
    assert (answer.hits, answer.pending) == ((), 0)


def test_lists_are_filtered_ordered_and_paged(filled):
    assert names_of(filled.items()) == ["sky.png", "grass.txt", "fire.md", "drum.wav", "cherry.png", "bird.wav"]
    assert names_of(filled.items(order="name")) == sorted(names_of(filled.items()))
    assert names_of(filled.items(order="size"))[:2] == ["bird.wav", "drum.wav"]
    assert names_of(filled.items(Kind.IMAGE, order="name")) == ["cherry.png", "sky.png"]
    assert names_of(filled.items(text="R", order="name")) == [
        "bird.wav",
        "cherry.png",
        "drum.wav",
        "fire.md",
        "grass.txt",
    ]
    assert names_of(filled.items(text="%")) == []
    assert names_of(filled.items(order="name", offset=2, limit=2)) == ["drum.wav", "fire.md"]
    assert len(filled.items(limit=None)) == 6
    with pytest.raises(LibraryError, match="choose one of added, name, size"):
        filled.items(order="colour")


def names_of(items):
    return [item.name for item in items]


def test_grouping_takes_the_best_segment_and_breaks_ties_by_item_then_segment():
    segments = np.array([11, 12, 21, 31, 32, 12], np.int64)
    items = np.array([1, 1, 2, 3, 3, 1], np.int64)
    scores = np.array([0.2, 0.5, 0.50000001, 0.9, 0.9, 0.4], np.float32)
    matches = [(match.item_id, match.segment_id, match.score) for match in best_by_item(segments, items, scores)]
    assert matches == [(3, 31, 0.9), (1, 12, 0.5), (2, 21, 0.5)]
    assert [match.item_id for match in best_by_item(segments, items, scores, first=2)] == [2, 3, 1]


def test_a_space_error_names_what_is_there_and_what_to_do(filled):
    filled.use(FakeEmbedder("other"))
    with pytest.raises(SpaceError, match=r"embedded with fake@1.* \(6 items\).*no vectors of other@1.*reembed"):
        ask(filled, "red")
