"""The embedder over the tiny package: order, failures, batches, threads, errors. Parity has a file of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from embedding import Audio, Embedder, Media, Modality, Role, load_embedder
from embedding import embedder as embedder_module
from embedding.checks import probe_inputs
from embedding.embedder import LoadOptions, unit
from embedding.errors import DeviceError, InferenceError, MediaError, PackageError
from embedding.types import Timings

PACKAGES = Path(__file__).parent.parent / "fixtures" / "packages"


@pytest.fixture(scope="module")
def tiny() -> Iterator[Embedder]:
    with load_embedder("gemma-tiny", "fp32", models_dir=PACKAGES) as embedder:
        yield embedder


def texts(count: int) -> list[str]:
    words = ["dog", "runs", "beach", "sun", "water", "old", "tree", "house", "bird", "sings", "at", "night", "rain"]
    random = np.random.default_rng(5)
    return [" ".join(random.choice(words, size=random.integers(1, 60))) for _ in range(count)]


def test_rows_belong_to_inputs_whatever_their_length(tiny: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder_module, "MAX_BATCH_TOKENS", 200)
    inputs = texts(40)
    together = tiny.embed(inputs).vectors
    alone = np.concatenate([tiny.embed([text]).vectors for text in inputs])
    assert together.shape == (40, tiny.dim) and together.dtype == np.float32
    np.testing.assert_allclose(together, alone, atol=2e-5)


def test_short_texts_beside_a_very_long_one(tiny: Embedder) -> None:
    """Padding far outside the sliding window sees no real token; it must not become NaN and spoil its row."""
    inputs = ["short", "word " * 700]
    tokens = [tiny.count_tokens(text) for text in inputs]
    assert tokens[1] > 20 * tokens[0]
    pool = tiny._tower.pool
    prepared = [tiny._tower.prepare(Media(text=text), Role.DOCUMENT, Timings()) for text in inputs]
    np.testing.assert_allclose(pool(prepared), np.concatenate([pool([one]) for one in prepared]), atol=2e-5)


def test_batches_stay_below_the_limit_of_padded_tokens(tiny: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder_module, "MAX_BATCH_TOKENS", 300)
    sizes: list[int] = []
    pool = tiny._tower.pool
    monkeypatch.setattr(
        tiny._tower,
        "pool",
        lambda batch: sizes.append(len(batch) * max(len(item.ids) for item in batch)) or pool(batch),
    )
    tiny.embed(texts(60))
    assert len(sizes) > 1 and max(sizes) <= 300


def test_all_kinds_mixed_keep_their_order(tiny: Embedder) -> None:
    inputs = probe_inputs()
    picture, sound = inputs[Modality.IMAGE].image, inputs[Modality.AUDIO].audio
    mixed = [picture, "one", sound, Media(text="two", image=picture), "three", Media(text="four", audio=sound)]
    together = tiny.embed(mixed)
    assert together.failures == ()
    for row, item in zip(together.vectors, mixed, strict=True):
        np.testing.assert_allclose(row, tiny.embed([item]).vectors[0], atol=2e-5)
    assert [count > 0 for count in together.soft_tokens] == [True, False, True, True, False, True]


def test_every_row_is_a_unit_vector(tiny: Embedder) -> None:
    vectors = tiny.embed([*texts(5), *probe_inputs().values()]).vectors
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


def test_bad_items_fail_alone(tiny: Embedder) -> None:
    noise = np.random.default_rng(0).standard_normal(16_000).astype(np.float32)
    inputs = [
        "good",
        "",
        "   ",
        Audio(noise, 8_000),
        7,
        Audio(np.tile(noise, 31), 16_000),
        "x " * 9_000,
        Media(),
        "fine",
    ]
    result = tiny.embed(inputs)  # type: ignore[arg-type]
    reasons = {failure.index: failure.reason for failure in result.failures}
    assert sorted(reasons) == [1, 2, 3, 4, 5, 6, 7]
    for index, word in {1: "nothing", 3: "8000 Hz", 4: "int", 5: "split it", 6: "tokens", 7: "nothing"}.items():
        assert word in reasons[index]
    assert np.isnan(result.vectors[1:8]).all() and np.isfinite(result.vectors[[0, 8]]).all()
    np.testing.assert_allclose(result.vectors[8], tiny.embed(["fine"]).vectors[0], atol=2e-5)


def test_empty_call_gives_no_rows(tiny: Embedder) -> None:
    assert tiny.embed([]).vectors.shape == (0, tiny.dim)


def test_roles_have_other_prompts_and_media_have_none(tiny: Embedder) -> None:
    query, document = (tiny.embed(["a dog"], role=role).vectors[0] for role in ("query", "document"))
    assert query @ document < 0.999
    picture = probe_inputs()[Modality.IMAGE]
    np.testing.assert_array_equal(tiny.embed([picture], "query").vectors, tiny.embed([picture], "document").vectors)


def test_title_stands_in_the_document_prompt(tiny: Embedder) -> None:
    plain, none, titled = tiny.embed(
        [Media(text="barks"), Media(text="barks", title="none"), Media(text="barks", title="Dogs")]
    ).vectors
    np.testing.assert_array_equal(plain, none)
    assert plain @ titled < 0.999


def test_typed_control_tokens_stay_text(tiny: Embedder) -> None:
    result = tiny.embed(["<|image|> and <eos> and <|audio|>"])
    assert result.failures == () and result.soft_tokens == (0,)
    assert tiny.count_tokens("<|image|>") > 1


def test_timings_name_the_stages_that_ran(tiny: Embedder) -> None:
    assert set(tiny.embed(["a"]).timings.ms) == {"tokenize", "text"}
    assert {"preprocess", "vision", "text"} <= set(tiny.embed([probe_inputs()[Modality.IMAGE]]).timings.ms)


def test_many_threads_get_their_own_answers(tiny: Embedder) -> None:
    inputs = [*texts(12), *probe_inputs().values()]
    expected = tiny.embed(inputs).vectors
    wrong: list[int] = []

    def work(number: int) -> None:
        random = np.random.default_rng(number)
        for index in random.permutation(len(inputs)):
            if not np.allclose(tiny.embed([inputs[index]]).vectors[0], expected[index], atol=2e-5):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_static_patches_are_padded_and_change_nothing(tiny: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Image.effect_noise((300, 90), 80).convert("RGB")
    expected = tiny.embed([wide]).vectors[0]
    session = tiny._tower._sessions["vision"]
    budget = tiny._tower.config.images.max_patches
    static = {"pixel_values": (1, budget, 768), "pixel_position_ids": (1, budget, 2)}
    monkeypatch.setattr(session, "inputs", static)
    seen: list[int] = []
    run = session.run
    monkeypatch.setattr(session, "run", lambda feeds: seen.append(feeds["pixel_values"].shape[1]) or run(feeds))
    np.testing.assert_allclose(tiny.embed([wide]).vectors[0], expected, atol=1e-5)
    assert seen == [budget]


def test_precisions_share_a_space_and_nearly_agree(tiny: Embedder) -> None:
    with load_embedder("gemma-tiny", "int8", models_dir=PACKAGES) as other:
        assert other.space == tiny.space
        inputs = [*texts(6), *probe_inputs().values()]
        cosines = np.sum(other.embed(inputs).vectors * tiny.embed(inputs).vectors, axis=1)
        assert cosines.min() > 0.98


def test_plan_says_what_runs_where(tiny: Embedder) -> None:
    assert [(plan.tower, plan.granted_device, plan.precision) for plan in tiny.plan] == [
        ("text", "CPU", "f32"),
        ("vision", "CPU", "f32"),
        ("audio", "CPU", "f32"),
    ]


def test_closed_embedder_says_so() -> None:
    embedder = load_embedder("gemma-tiny", "int8", models_dir=PACKAGES)
    embedder.close()
    result = embedder.embed(["a"])
    assert "closed" in result.failures[0].reason


def test_unknown_device_lists_what_exists() -> None:
    with pytest.raises(DeviceError, match=r"no device 'TPU'.*it has CPU"):
        load_embedder("gemma-tiny", "fp32", "TPU", models_dir=PACKAGES)


def test_unit_refuses_what_is_no_vector() -> None:
    np.testing.assert_allclose(unit(np.array([[3.0, 4.0]], np.float32)), [[0.6, 0.8]])
    for row in ([0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(InferenceError):
            unit(np.array([row], np.float32))


def test_shorter_vectors_are_the_normalised_prefix(tiny: Embedder) -> None:
    with load_embedder("gemma-tiny", "fp32", models_dir=PACKAGES, options=LoadOptions(dim=48)) as short:
        assert short.dim == 48 and short.space != tiny.space
        inputs = [*texts(3), *probe_inputs().values()]
        np.testing.assert_allclose(short.embed(inputs).vectors, unit(tiny.embed(inputs).vectors[:, :48]), atol=1e-5)
    with pytest.raises(PackageError, match=r"no vectors of 50 numbers; it has 96, 48, 24"):
        load_embedder("gemma-tiny", "fp32", models_dir=PACKAGES, options=LoadOptions(dim=50))


def test_image_budget_sets_the_number_of_soft_tokens(tiny: Embedder) -> None:
    picture = Image.effect_noise((640, 480), 80).convert("RGB")
    with load_embedder("gemma-tiny", "fp32", models_dir=PACKAGES, options=LoadOptions(image_budget=280)) as large:
        assert large.space != tiny.space
        assert 200 < large.embed([picture]).soft_tokens[0] <= 280
    assert tiny.embed([picture]).soft_tokens[0] <= 70


def test_single_input_and_broken_text_are_told(tiny: Embedder) -> None:
    with pytest.raises(MediaError, match="put it into a list"):
        tiny.embed("dog")
    result = tiny.embed(["fine", "half \ud800", Media(image="no picture")])  # type: ignore[arg-type]
    assert [failure.index for failure in result.failures] == [1, 2] and np.isfinite(result.vectors[0]).all()
    assert tiny.embed(text for text in ["one", "two"]).vectors.shape == (2, tiny.dim)  # type: ignore[arg-type]


def test_image_budget_out_of_range_is_refused() -> None:
    with pytest.raises(PackageError, match="soft tokens"):
        load_embedder("gemma-tiny", "fp32", models_dir=PACKAGES, options=LoadOptions(image_budget=99_999_999))
