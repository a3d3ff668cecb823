"""Which modality a file is, by its first bytes, then by its suffix."""

from __future__ import annotations

from pathlib import Path

from embedding.types import Modality

SUFFIXES: dict[Modality, frozenset[str]] = {
    Modality.TEXT: frozenset({".txt", ".md", ".markdown", ".text"}),
    Modality.IMAGE: frozenset({".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".apng"}),
    Modality.AUDIO: frozenset(
        {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au", ".caf", ".w64"}
    ),
}

# (offset, bytes) pairs that must all match; the sources are the format specifications.
_MAGIC: tuple[tuple[Modality, tuple[tuple[int, bytes], ...]], ...] = (
    (Modality.IMAGE, ((0, b"\xff\xd8\xff"),)),
    (Modality.IMAGE, ((0, b"\x89PNG\r\n\x1a\n"),)),
    (Modality.IMAGE, ((0, b"GIF8"),)),
    (Modality.IMAGE, ((0, b"RIFF"), (8, b"WEBP"))),
    (Modality.IMAGE, ((0, b"II*\x00"),)),
    (Modality.IMAGE, ((0, b"MM\x00*"),)),
    (Modality.IMAGE, ((4, b"ftypavif"),)),
    (Modality.AUDIO, ((0, b"RIFF"), (8, b"WAVE"))),
    (Modality.AUDIO, ((0, b"RF64"), (8, b"WAVE"))),
    (Modality.AUDIO, ((0, b"fLaC"),)),
    (Modality.AUDIO, ((0, b"OggS"),)),
    (Modality.AUDIO, ((0, b"ID3"),)),
    (Modality.AUDIO, ((0, b"FORM"), (8, b"AIF"))),
    (Modality.AUDIO, ((0, b".snd"),)),
    (Modality.AUDIO, ((0, b"caff"),)),
    (Modality.AUDIO, ((0, b"riff\x2e\x91\xcf\x11"),)),
    # MPEG audio layer III without a tag: sync word, version 1 or 2, layer 3
    *((Modality.AUDIO, ((0, b"\xff" + bytes([second])),)) for second in (0xFB, 0xFA, 0xF3, 0xF2, 0xE3, 0xE2)),
)
_HEAD = 32


def sniff(path: Path | str, head: bytes | None = None) -> Modality | None:
    """The modality of a file, None when it is none of ours. Content wins over suffix; `head` saves reading it.

    Raises OSError when the file cannot be read.
    """
    if head is None:
        with Path(path).open("rb") as stream:
            head = stream.read(_HEAD)
    for modality, pairs in _MAGIC:
        if all(head[offset : offset + len(magic)] == magic for offset, magic in pairs):
            return modality
    suffix = Path(path).suffix.lower()
    return next((modality for modality, suffixes in SUFFIXES.items() if suffix in suffixes), None)
