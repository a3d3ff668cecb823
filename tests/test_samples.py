"""What a newcomer sees: the sample library on `nano` answers everyday words with the right things of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedding import load_embedder
from embedding.types import Media
from index import Kind, Library, Query

SAMPLES = Path(__file__).resolve().parent.parent / "assets" / "library"
# What should come first for a word: a document, a picture, a sound.
SUBJECTS: dict[str, tuple[set[str], set[str], set[str]]] = {
    "dog": ({"dogs.md"}, {"german-shepherd.jpg"}, {"dog-bark.flac", "dog-at-the-gate.ogg"}),
    "cat": ({"cats.txt"}, {"tabby-cat.png", "kitten-with-yarn.webp"}, {"sleeping-cat.ogg"}),
    "horse": ({"horses.md"}, {"horses-on-a-hill.jpg"}, {"horse-gallop.ogg", "horses-in-the-stable.flac"}),
    "bird": (
        {"garden-birds.md"},
        {"kingfisher.jpg", "owl-on-a-branch.webp"},
        {"bird-song.ogg", "birds-in-the-morning.ogg"},
    ),
    "car": ({"cars-in-winter.txt"}, {"car.png"}, {"car-engine.wav", "car-will-not-start.ogg"}),
    "train": ({"railways.md"}, {"steam-locomotive.webp"}, {"passing-train.ogg", "train-announcement.wav"}),
    "boat": ({"small-boats.txt"}, {"boats-in-harbour.jpg"}, {"sailing-boat.ogg"}),
    "bicycle": ({"bicycle-repair.md"}, {"bicycle.webp"}, {"flat-tyre.ogg"}),
    "guitar": ({"guitar.md"}, {"guitar-and-drums.jpg"}, {"guitar-chord.ogg", "guitar-lesson.ogg"}),
    "piano": ({"piano.txt"}, {"piano-keys.webp"}, {"piano-notes.ogg"}),
    "bell": ({"bells.txt"}, {"bell.webp"}, {"church-bell.flac"}),
    "apple": ({"apple-crumble.md"}, {"red-apple.webp"}, {"apples-from-the-garden.flac"}),
    "coffee": ({"coffee.md"}, {"cup-of-coffee.jpg"}, {"morning-coffee.ogg"}),
    "flower": ({"flowers.txt"}, {"dahlia.jpg", "bee-and-blossom.jpg"}, {"watering-flowers.ogg"}),
    "tree": ({"trees.md"}, {"tree.webp"}, {"old-oak-tree.ogg"}),
    "mountain": ({"mountain-walking.md"}, {"mountain-ruins.jpg"}, {"mountain-weather.ogg"}),
    "house": ({"warm-house.txt"}, {"wooden-house.jpg"}, {"house-for-sale.wav"}),
    "clock": ({"clocks.md"}, {"alarm-clock.webp"}, {"ticking-clock.wav", "clock-stopped.ogg"}),
    "telephone": ({"telephone.txt"}, {"telephone.png"}, {"telephone-ring.ogg", "answer-the-telephone.ogg"}),
}
KINDS = (Kind.DOCUMENT, Kind.IMAGE, Kind.AUDIO)
# Share of the subjects whose right answer is among the first three of its kind; chance is about a seventh.
AT_LEAST = {Kind.DOCUMENT: 0.9, Kind.IMAGE: 0.8, Kind.AUDIO: 0.6}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with load_embedder("nano") as embedder, Library(tmp_path_factory.mktemp("data"), embedder) as library:
        report = library.add_all(path for path in SAMPLES.iterdir() if path.is_dir())
        assert report.skipped == []
        yield library


def rank(library: Library, word: str, kind: Kind, right: set[str]) -> int:
    """Rank of the first right answer among those of a kind."""
    hits = library.search(Query(Media(text=word), kinds=frozenset({kind}), k=100)).hits
    return next(hit.rank for hit in hits if hit.item.name in right)


def test_every_right_answer_is_a_file_of_the_library(library: Library) -> None:
    names = {kind: {item.name for item in library.items(kind, limit=None)} for kind in KINDS}
    for rights in SUBJECTS.values():
        for kind, right in zip(KINDS, rights, strict=True):
            assert right <= names[kind]


def test_dog_shows_a_dog_of_every_kind(library: Library) -> None:
    assert [rank(library, "dog", kind, right) for kind, right in zip(KINDS, SUBJECTS["dog"], strict=True)] == [1, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_everyday_words_find_their_things(library: Library, kind: Kind) -> None:
    column = KINDS.index(kind)
    ranks = {word: rank(library, word, kind, rights[column]) for word, rights in SUBJECTS.items()}
    assert sum(place <= 3 for place in ranks.values()) / len(ranks) >= AT_LEAST[kind], ranks


def test_a_picture_finds_its_like(library: Library) -> None:
    item = next(item for item in library.items(Kind.IMAGE, limit=None) if item.name == "tabby-cat.png")
    hits = library.search(Query(like=item.id, kinds=frozenset({Kind.IMAGE}), k=5)).hits
    assert hits[0].item.name == "tabby-cat.png" and hits[0].score == pytest.approx(1.0, abs=1e-3)
    assert "kitten-with-yarn.webp" in [hit.item.name for hit in hits]
