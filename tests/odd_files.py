"""Damaged and odd files with what must become of each: a table, and a function that writes them all into a folder.

The tables of pictures and sounds lie in odd_pictures.py and odd_sounds.py; here are texts, names and links.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Colour = tuple[int, ...]
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0  # root reads what nobody may read


@dataclass(frozen=True)
class Odd:
    """A file: `data` makes its content, or `place` puts something else there (a link, a folder).

    Expected: indexed as `kind` (with these properties where given), or, with a `reason`, skipped with that word in it.
    """

    name: str
    data: Callable[[], bytes] = bytes
    kind: str = ""
    reason: str = ""
    size: tuple[int, int] | None = None  # pixels
    corner: Colour | None = None  # colour of the first pixel, and of the last
    far_corner: Colour | None = None
    seconds: float | None = None
    text: str | None = None  # how the first passage begins
    segments: int | None = None
    place: Callable[[Path], object] | None = None


def text(name: str, content: str, encoding: str = "utf-8", **expected: object) -> Odd:
    """A text that is indexed and begins as it was written, without a byte order mark."""
    begin = content.strip().replace("\r\n", "\n")[:40]
    return Odd(name, lambda: content.encode(encoding), "document", text=begin, **expected)


def unreadable_folder(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("Nobody may read this.")
    path.parent.chmod(0)


TEXTS = (
    Odd("empty.txt", reason="empty"),
    Odd("empty.jpg", reason="empty"),
    Odd("empty.wav", reason="empty"),
    Odd("blank.txt", lambda: b" \n\t \r\n \n", reason="blank"),
    Odd("only-a-mark.txt", lambda: b"\xef\xbb\xbf", reason="blank"),
    Odd("nul.txt", lambda: b"abc\x00def\x00", reason="NUL"),
    Odd("half-a-character.txt", lambda: "\ufeffDogs".encode("utf-16-le")[:-1], reason="damaged"),
    Odd("half-a-pair.txt", lambda: b"\xff\xfe\x3d\xd8D\x00", reason="damaged"),
    text("utf-32.txt", "Four bytes for each character.", "utf-32"),
    Odd("paper.pdf", lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n", reason="kind"),
    Odd("table.xyz", lambda: b"a,b,c\n1,2,3\n", reason="kind"),
    Odd("song.m4a", lambda: b"\x00\x00\x00\x20ftypM4A \x00\x00\x00\x00" + bytes(99), reason="kind"),
    Odd("no-suffix", lambda: b"What am I?", reason="kind"),
    text("utf-8-mark.txt", "The dog barks.", "utf-8-sig"),
    text("little-endian.txt", "Der Hund bellt, weil es klingelt.", "utf-16"),
    Odd("big-endian.md", lambda: "\ufeff# Дом\n\nПёс".encode("utf-16-be"), "document", text="# Дом\n\nПёс"),
    text("windows.txt", "A café – “naïve”, 10 €.", "cp1252"),
    text("dos.txt", "One line.\r\nAnother line.\r\n"),
    text("control-tokens.md", "<|image|><bos><eos><pad> <start_of_image> is only text."),
    text("smileys.txt", "🐶🐕🦮"),
    text("one-line.txt", "The quick brown fox jumps over the lazy dog. " * 23_302),
    text("one-word.txt", "aß" * 10_000),
    Odd("page.md", lambda: b"\xff\xd8\xff\xe0 begins as a picture does", reason="picture"),
)

NAMES = (
    text("two\nlines.txt", "The name of this file has two lines."),
    text("dog 🐶 and cat.txt", "The name of this file has a smiley."),
    text("--help.txt", "The name of this file begins with dashes."),
    text('it\'s "quoted" & <b>bold.txt', "The name of this file has quotes and tags."),
    text("100%#?&;$(touch x).txt", "The name of this file would be a command in a shell."),
    text(" space at both ends .txt", "The name of this file begins with a space."),
    text("x" * 250 + ".txt", "The name of this file is as long as can be."),
    text(os.fsdecode(b"not-utf-8-\xff\xfe.txt"), "The name of this file is no UTF-8."),
    text("e\u0301.txt", "The name of this file has a combining accent."),
)

LINKS = (
    Odd("loop.txt", place=lambda path: path.symlink_to(path.name), reason="cannot be read"),
    Odd("dangling.jpg", place=lambda path: path.symlink_to("nowhere.jpg"), reason="link to nothing"),
    Odd("linked.txt", place=lambda path: path.symlink_to("dos.txt"), kind="document", text="One line.\nAnother line."),
    Odd("pipe.txt", place=lambda path: os.mkfifo(path), reason="neither a file"),
    Odd(
        "folder.jpg/inside.txt",
        place=lambda path: (path.parent.mkdir(), path.write_text("A folder may be called like a picture.")),
        kind="document",
        text="A folder may be called",
    ),
    Odd(
        "forbidden/secret.txt" if AS_ROOT else "forbidden",
        place=lambda path: unreadable_folder(path if AS_ROOT else path / "secret.txt"),
        kind="document" if AS_ROOT else "",
        reason="" if AS_ROOT else "cannot be read",
    ),
)

# In a folder these are left out without a word: they are hidden, or an answer stands elsewhere.
SILENT = (
    Odd(".hidden.txt", lambda: b"Hidden files are not asked for."),
    Odd("circle", place=lambda path: path.symlink_to(".", target_is_directory=True)),
    Odd("empty-folder", place=lambda path: path.mkdir()),
)


def write_all(folder: Path, files: tuple[Odd, ...]) -> None:
    """Write every file of a table into an existing folder."""
    for odd in files:
        path = folder / odd.name
        if odd.place is not None:
            odd.place(path)
        else:
            path.write_bytes(odd.data())
