"""A library in a temporary folder, and a small set of files of every kind."""

import pytest

from index import Library
from tests.index.fakes import FakeEmbedder, picture, sound, text


@pytest.fixture
def embedder():
    return FakeEmbedder()


@pytest.fixture
def library(tmp_path, embedder):
    with Library(tmp_path / "data", embedder) as library:
        yield library


@pytest.fixture
def files(tmp_path):
    """Six files: two pictures, two texts, two sounds."""
    folder = tmp_path / "files"
    picture(folder / "cherry.png", "red")
    picture(folder / "sky.png", "blue")
    text(folder / "grass.txt", "Grass is green, green, green.")
    text(folder / "fire.md", "# Fire\n\nA red, red flame.")
    sound(folder / "bird.wav", (3000, 1))
    sound(folder / "drum.wav", (100, 1))
    return folder
