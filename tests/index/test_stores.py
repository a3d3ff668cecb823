"""The contract of stores, run over every engine, with the values of plain NumPy as the yardstick."""

import numpy as np
import pytest

from embedding.errors import LibraryError
from index.stores import STORES, open_store

DIM = 24


@pytest.fixture(params=sorted(STORES))
def engine(request):
    return request.param


@pytest.fixture
def store(engine):
    return open_store(engine, DIM)


def unit_rows(count, seed=0, dim=DIM):
    rows = np.random.default_rng(seed).normal(size=(count, dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def ids_of(*numbers):
    return np.array(numbers, np.int64)


def same_answers(got, ids, vectors, queries, k):
    """Scores are the k best; every id has the score it was given. Which of equal scores comes first is free."""
    scores, found = got
    truth = queries @ vectors.T
    for row in range(len(queries)):
        best = np.sort(truth[row])[::-1][:k]
        np.testing.assert_allclose(scores[row, : len(best)], best, atol=1e-6)
        by_id = dict(zip(ids.tolist(), truth[row], strict=True))
        shown = found[row, : len(best)]
        assert len(set(shown.tolist())) == len(shown)
        np.testing.assert_allclose([by_id[number] for number in shown.tolist()], best, atol=1e-6)


def test_the_best_are_found_with_their_scores(store):
    vectors, queries = unit_rows(300), unit_rows(7, seed=1)
    ids = np.random.default_rng(2).permutation(10_000)[:300].astype(np.int64)
    store.add(ids[:100], vectors[:100])
    store.add(ids[100:], vectors[100:])
    assert len(store) == 300
    assert store.ids().tolist() == sorted(ids.tolist())
    scores, found = store.search(queries, 10)
    assert scores.shape == found.shape == (7, 10)
    assert scores.dtype == np.float32
    assert found.dtype == np.int64
    assert (np.diff(scores, axis=1) <= 1e-7).all()
    same_answers((scores, found), ids, vectors, queries, 10)


def test_a_vector_finds_itself_first_at_one(store):
    vectors = unit_rows(50)
    store.add(np.arange(50, dtype=np.int64), vectors)
    scores, found = store.search(vectors, 1)
    assert found[:, 0].tolist() == list(range(50))
    np.testing.assert_allclose(scores[:, 0], 1.0, atol=1e-6)


def test_orthogonal_and_opposite_vectors_score_zero_and_minus_one(store):
    axes = np.eye(DIM, dtype=np.float32)
    store.add(ids_of(1, 2, 3), np.stack([axes[0], axes[1], -axes[0]]))
    scores, found = store.search(axes[:1], 3)
    assert found[0].tolist() == [1, 2, 3]
    assert scores[0].tolist() == [1.0, 0.0, -1.0]


def test_only_allowed_ids_answer_and_the_k_best_of_them(store):
    vectors, queries = unit_rows(200), unit_rows(3, seed=5)
    ids = np.arange(1, 201, dtype=np.int64) * 3
    store.add(ids, vectors)
    allowed = ids[::7]
    same_answers(store.search(queries, 5, allowed), allowed, vectors[::7], queries, 5)
    scores, found = store.search(queries, 200, allowed)
    answers = (found >= 0).sum(axis=1)
    assert answers.tolist() == [len(allowed)] * 3
    assert (scores[found < 0] == -np.inf).all()
    same_answers((scores, found), allowed, vectors[::7], queries, len(allowed))


def test_nothing_allowed_gives_nothing(store):
    store.add(ids_of(1, 2), unit_rows(2))
    _, found = store.search(unit_rows(1), 2, ids_of())
    assert (found < 0).all()


def test_allowed_ids_that_are_not_held_are_ignored(store):
    vectors = unit_rows(3)
    store.add(ids_of(1, 2, 3), vectors)
    _, found = store.search(vectors[:1], 3, ids_of(2, 77, 1000))
    assert found[0].tolist() == [2, -1, -1]


def test_removed_ids_are_gone_and_others_keep_their_vectors(store):
    vectors = unit_rows(40)
    ids = np.arange(40, dtype=np.int64)
    store.add(ids, vectors)
    store.remove(ids_of(0, 7, 39, 1234))
    kept = np.setdiff1d(ids, [0, 7, 39])
    assert store.ids().tolist() == kept.tolist()
    same_answers(store.search(vectors, 37), kept, vectors[kept], vectors, 37)


def test_an_id_can_come_back_with_its_vector(store):
    vectors = unit_rows(5)
    store.add(np.arange(5, dtype=np.int64), vectors)
    store.remove(ids_of(2))
    store.add(ids_of(2), vectors[2:3])
    scores, found = store.search(vectors[2:3], 1)
    assert found[0, 0] == 2
    assert scores[0, 0] == pytest.approx(1.0, abs=1e-6)


def test_equal_vectors_are_all_found(store):
    vectors = np.repeat(unit_rows(1), 20, axis=0)
    store.add(np.arange(20, dtype=np.int64), vectors)
    scores, found = store.search(vectors[:1], 20)
    assert sorted(found[0].tolist()) == list(range(20))
    np.testing.assert_allclose(scores, 1.0, atol=1e-6)


def test_an_empty_store_answers_with_nothing(store):
    scores, found = store.search(unit_rows(2), 5)
    assert scores.shape == found.shape == (2, 0)
    store.add(ids_of(), np.empty((0, DIM), np.float32))
    store.remove(ids_of())
    assert len(store) == 0
    assert store.ids().tolist() == []


def test_a_store_survives_writing_and_reading(store, engine):
    vectors = unit_rows(30)
    ids = np.arange(30, dtype=np.int64) + 5
    store.add(ids, vectors)
    store.remove(ids_of(6))
    other = open_store(engine, DIM)
    other.load(memoryview(store.dump()))
    kept = np.setdiff1d(ids, [6])
    assert other.ids().tolist() == kept.tolist()
    same_answers(other.search(vectors, 5), kept, vectors[kept - 5], vectors, 5)
    other.remove(ids_of(7))
    other.add(ids_of(900), vectors[1:2])
    assert other.search(vectors[1:2], 1)[1][0, 0] == 900


def test_what_does_not_fit_is_refused(store, engine):
    other = open_store(engine, DIM + 1)
    other.add(ids_of(1), unit_rows(1, dim=DIM + 1))
    with pytest.raises(ValueError):
        store.load(other.dump())
    with pytest.raises(ValueError):
        store.load(b"no index at all")
    assert len(store) == 0


def test_engines_agree_on_a_thousand_vectors():
    vectors, queries = unit_rows(1000, seed=8, dim=128), unit_rows(20, seed=9, dim=128)
    ids = np.arange(1000, dtype=np.int64)
    for name in STORES:
        store = open_store(name, 128)
        store.add(ids, vectors)
        same_answers(store.search(queries, 50), ids, vectors, queries, 50)


def test_an_unknown_engine_is_told_with_the_known_ones():
    with pytest.raises(LibraryError, match="no vector store 'milvus'; choose one of exact, faiss"):
        open_store("milvus", 4)
