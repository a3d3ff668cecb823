"""A studio over a real library, with models that compute, and a small set of files of every kind."""

import pytest

from index import Library
from tests.index.fakes import picture, sound, text
from tests.ui.fakes import FakeShelf, StudioEmbedder
from ui.question import StudioSettings
from ui.studio import Studio


@pytest.fixture
def files(tmp_path):
    """Two pictures, two texts, two sounds."""
    folder = tmp_path / "files"
    picture(folder / "cherry.png", "red")
    picture(folder / "sky.png", "blue")
    text(folder / "grass.txt", "Grass is green, green, green.")
    text(folder / "fire.md", "# Fire\n\nA red, red flame.")
    sound(folder / "bird.wav", (3000, 1))
    sound(folder / "drum.wav", (100, 1))
    return folder


@pytest.fixture
def studio(tmp_path):
    """Empty library, model `colours`, nothing to add at the first start."""
    data = tmp_path / "data"
    embedder = StudioEmbedder()
    studio = Studio(Library(data, embedder), embedder, FakeShelf(), StudioSettings(data, tmp_path / "models"))
    yield studio
    studio.close()


@pytest.fixture
def filled(studio, files):
    """The studio with the six files."""
    job = studio.add([files], "files")
    assert job.over.wait(20)
    assert job.counts == {"added": 6}
    return studio


def names(answer):
    """Names of the hits in their order."""
    return [hit.item.name for hit in answer.hits.hits]
