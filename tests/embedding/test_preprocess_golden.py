"""Pictures and sounds against the arrays of the reference's own processors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embedding.towers.images import ImageSettings, pad_patches, patchify
from embedding.towers.sounds import AudioSettings, log_mel
from tests.golden import inputs

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
STEP = 1.001 / 255  # one step of 8 bits
MEL_TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def pictures():
    with np.load(GOLDEN / "pictures.npz") as arrays:
        return dict(arrays)


@pytest.fixture(scope="module")
def sounds():
    with np.load(GOLDEN / "sounds.npz") as arrays:
        return dict(arrays)


@pytest.mark.parametrize("size", inputs.SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("budget", inputs.BUDGETS)
def test_patches_are_those_of_the_reference(pictures, budget, size):
    key = f"{budget}_{size[0]}x{size[1]}"
    patches, positions = patchify(inputs.picture(size), ImageSettings(max_soft_tokens=budget))

    columns, rows = pictures[f"{key}_grid"]
    assert patches.shape == (1, columns * rows, 768)
    expected = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).reshape(1, -1, 2)
    np.testing.assert_array_equal(positions, expected)

    # Every patch by its mean, some patches value by value.
    means = pictures[f"{key}_sums"] / (255.0 * 768)
    np.testing.assert_allclose(patches[0].mean(axis=1, dtype=np.float64), means, atol=STEP / 4)
    kept = pictures[f"{key}_patches"].astype(np.float32) / 255.0
    chosen = np.unique(np.linspace(0, patches.shape[1] - 1, 12).astype(int))
    np.testing.assert_allclose(patches[0][chosen], kept, atol=STEP)


def test_padding_adds_zeros_at_positions_of_minus_one():
    patches, positions = patchify(inputs.picture((400, 130)), ImageSettings(max_soft_tokens=70))
    real = patches.shape[1]
    padded, places = pad_patches(patches, positions, 630)
    assert padded.shape == (1, 630, 768)
    np.testing.assert_array_equal(padded[:, :real], patches)
    assert not padded[:, real:].any()
    np.testing.assert_array_equal(places[:, :real], positions)
    assert (places[:, real:] == -1).all()


@pytest.mark.parametrize("samples", inputs.MEL_SAMPLES)
def test_log_mel_is_that_of_the_reference(sounds, samples):
    features, mask = log_mel(inputs.sound(samples), AudioSettings())
    expected, means = sounds[f"{samples}_frames"], sounds[f"{samples}_means"]
    np.testing.assert_array_equal(mask[0], sounds[f"{samples}_mask"])
    assert features.shape == (1, len(means), 128)
    every = -(-len(means) // len(expected))
    np.testing.assert_allclose(features[0][::every], expected, atol=MEL_TOLERANCE)
    np.testing.assert_allclose(features[0].mean(axis=1, dtype=np.float64), means, atol=MEL_TOLERANCE)
