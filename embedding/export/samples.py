"""Inputs of calibration and of drift reports: this project's own sample library, the same every time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from embedding.media import decode_audio, decode_image
from embedding.types import Audio, Media, Modality

LIBRARY = Path(__file__).resolve().parents[2] / "assets" / "library"
SECONDS = 3.0  # of each sound


@dataclass(frozen=True)
class Amount:
    """How many inputs of each kind are taken."""

    texts: int = 16
    pictures: int = 8
    both: int = 4
    sounds: int = 4


def media(kinds: frozenset[Modality], amount: Amount | None = None) -> dict[str, list[Media]]:
    """Inputs by kind of input (`text`, `image`, `image+text`, `audio`), of those kinds that a model reads."""
    amount = amount or Amount()
    found = {"text": [Media(text=text) for text in _texts(amount.texts)]}
    if Modality.IMAGE in kinds:
        pictures = _spread(LIBRARY / "pictures", max(amount.pictures, amount.both))
        images = [(path, decode_image(path)) for path in pictures]
        found["image"] = [Media(image=image) for _, image in images[: amount.pictures]]
        found["image+text"] = [Media(text=_caption(path), image=image) for path, image in images[: amount.both]]
    if Modality.AUDIO in kinds:
        found["audio"] = [Media(audio=_beginning(path)) for path in _spread(LIBRARY / "sounds", amount.sounds)]
    return found


def _texts(count: int) -> list[str]:
    """Captions of pictures, and passages of the documents, in turn."""
    captions = [_caption(path) for path in _spread(LIBRARY / "pictures", count)]
    passages = [
        path.read_text(encoding="utf-8").split("\n\n")[-1].strip()[:1200]
        for path in _spread(LIBRARY / "documents", count)
    ]
    return [text for pair in zip(captions, passages, strict=False) for text in pair][:count]


def _spread(folder: Path, count: int) -> list[Path]:
    """That many files of a folder, evenly over their names; all of them when there are fewer."""
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    count = min(count, len(paths))
    return [paths[number * len(paths) // count] for number in range(count)] if count else []


def _caption(path: Path) -> str:
    return path.stem.replace("-", " ")


def _beginning(path: Path) -> Audio:
    sound = decode_audio(path)
    return Audio(sound.samples[: int(SECONDS * sound.rate)], sound.rate)
