"""The built-in packages of GME's contract answer with meaning, in both precisions, offline."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from embedding import Embedder, Media, load_embedder
from embedding.catalog import card_named
from embedding.errors import SpaceError
from embedding.media import decode_image
from index import Kind, Library, Query

PICTURES = sorted((Path(__file__).parents[2] / "assets" / "library" / "pictures").iterdir())
WORDS = {
    "dog": "german-shepherd", "cow": "cow-in-a-meadow", "horse": "horses-on-a-hill", "owl": "owl-on-a-branch",
    "car": "car", "train": "steam-locomotive", "boat": "boats-in-harbour", "bicycle": "bicycle", "sheep": "sheep",
    "guitar": "guitar-and-drums", "piano": "piano-keys", "bell": "bell", "apple": "red-apple", "fish": "angelfish",
    "coffee": "cup-of-coffee", "tree": "tree", "castle": "castle", "alarm clock": "alarm-clock",
    "rocket": "rocket-launch", "telephone": "telephone", "light bulb": "light-bulb",
}  # fmt: skip
PRECISIONS = [str(package.precision) for package in card_named("nano-gme").packages]
Loaded = tuple[Embedder, np.ndarray]


@pytest.fixture(scope="module", params=PRECISIONS)
def loaded(request: pytest.FixtureRequest) -> Iterator[Loaded]:
    with load_embedder("nano-gme", request.param) as embedder:
        yield embedder, embedder.embed([decode_image(path) for path in PICTURES]).vectors


def test_words_find_their_pictures(loaded: Loaded) -> None:
    embedder, pictures = loaded
    names = [path.stem for path in PICTURES]
    order = np.argsort(-embedder.embed(list(WORDS), role="query").vectors @ pictures.T, axis=1)
    found = [name in [names[n] for n in row[:3]] for name, row in zip(WORDS.values(), order, strict=True)]
    assert np.mean(found) >= 0.8, dict(zip(WORDS, found, strict=True))


def test_a_picture_with_words_means_both(loaded: Loaded) -> None:
    embedder, pictures = loaded
    images = [decode_image(path) for path in PICTURES]
    words = embedder.embed(["at night in the snow"], role="query").vectors[0]
    both = embedder.embed([Media(image=image, text="at night in the snow") for image in images], role="query").vectors
    assert (both @ words).min() > 0.4
    assert (np.argmax(both @ pictures.T, axis=1) == np.arange(len(PICTURES))).mean() >= 0.9


def test_four_bits_answer_like_eight() -> None:
    rows = []
    for precision in PRECISIONS:
        with load_embedder("nano-gme", precision) as embedder:
            rows.append(embedder.embed([*WORDS, "a dog runs along the beach at sunset"]).vectors)
    assert (rows[0] * rows[1]).sum(axis=1).mean() > 0.97


def test_an_index_of_nano_refuses_it_until_embedded_again(tmp_path: Path) -> None:
    with load_embedder("nano") as nano, load_embedder("nano-gme") as other, Library(tmp_path, nano) as library:
        assert len(library.add_all(PICTURES[:4]).added) == 4
        library.use(other)
        query = Query(Media(text="a fish"), kinds=frozenset({Kind.IMAGE}))
        with pytest.raises(SpaceError, match="reembed"):
            library.search(query)
        assert len(list(library.embed_pending())) >= 4
        assert library.search(query).hits[0].item.name == "angelfish.webp"
