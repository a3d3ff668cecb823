"""Kinds whose cosines are low all the same get their share of the places."""

import pytest

from embedding.types import Media
from index import Kind, Query
from index.ranking import Match, balanced
from tests.index.fakes import picture, sound, text


def test_each_kind_keeps_its_share_and_scores_decide_the_order():
    pictures = [Match(n, n, 0.9 - n / 100) for n in range(10)]
    texts = [Match(n, n, 0.5 - n / 100) for n in range(20, 24)]
    sounds = [Match(40, 40, 0.1)]
    best = sorted([*pictures, *texts, *sounds], key=lambda match: -match.score)[:6]
    kept = balanced(best, [texts, pictures, sounds], 6)
    assert [match.item_id for match in kept] == [0, 1, 2, 20, 21, 40], "two of each, and the place left to the best"


def test_places_that_a_kind_cannot_fill_go_to_the_best():
    pictures = [Match(n, n, 0.9 - n / 100) for n in range(10)]
    kept = balanced(pictures[:6], [[], pictures, []], 6)
    assert [match.item_id for match in kept] == [0, 1, 2, 3, 4, 5]


def test_the_item_that_is_asked_leads():
    a, b = Match(1, 1, 1.0), Match(2, 2, 1.0)
    assert [match.item_id for match in balanced([a, b], [[a], [b]], 2, first=2)] == [2, 1]


@pytest.mark.parametrize(("even", "kinds"), [(False, {Kind.IMAGE}), (True, set(Kind))])
def test_a_library_answers_with_all_kinds_when_balanced(library, tmp_path, even, kinds):
    for number in range(6):
        picture(tmp_path / "files" / f"{number}.png", (255, number, 0))
    text(tmp_path / "files" / "a.txt", "something quite different")
    sound(tmp_path / "files" / "a.wav", (100, 1))
    library.add_all([tmp_path / "files"])
    hits = library.search(Query(Media(text="red"), k=3, balanced=even)).hits
    assert {hit.item.kind for hit in hits} == kinds
    assert [hit.rank for hit in hits] == [1, 2, 3]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
