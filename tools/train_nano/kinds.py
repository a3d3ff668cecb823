"""The everyday word above a class of ImageNet: `dog` for the Pomeranian, `fish` for the tench, by WordNet's hypernyms.

A person types the everyday word; a small text model does not know that a kuvasz is a dog.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tools.train_nano.pictures import emoji
from tools.train_nano.sources import source

# Lexicographer files of things: animal, artifact, body, food, object, person, plant.
_THINGS = frozenset({5, 6, 8, 13, 15, 17, 18, 20})
_DEPTH = 9
# Words above nearly everything say nothing of a picture.
_TOO_WIDE = frozenset((
    "animal", "beast", "body", "building", "cloth", "clothing", "container", "covering", "device", "dish",
    "electronic", "entertainment", "equipment", "fabric", "face", "fastener", "food", "furniture", "game", "garment",
    "hound", "instrument", "machine", "mammal", "man", "nature", "object", "people", "person", "place", "plant",
    "plumber", "produce", "protection", "sign", "sport", "structure", "symbol", "thing", "tool", "transport",
    "transportation", "vehicle", "vessel", "woman",
))  # fmt: skip


class Nouns:
    """WordNet's nouns: meanings of a word, the commonest first; words, file and hypernyms of a meaning."""

    def __init__(self, work: Path) -> None:
        root = source(work, "wordnet-base") / "usr/share/wordnet"
        self.meanings: dict[str, list[str]] = {}
        for line in (root / "index.noun").read_text(encoding="utf-8").splitlines():
            if not line.startswith(" "):
                fields = line.split()
                self.meanings[fields[0].replace("_", " ")] = fields[-int(fields[2]) :]
        self.entries: dict[str, tuple[list[str], int, list[str]]] = {}
        for line in (root / "data.noun").read_text(encoding="utf-8").splitlines():
            if not line.startswith(" "):
                fields = line.partition(" | ")[0].split()
                self.entries[fields[0]] = _entry(fields)

    def above(self, meaning: str, wanted: frozenset[str], name: str) -> str | None:
        """The nearest wanted word on the way up from a meaning, other than the name itself."""
        level = [meaning]
        for _ in range(_DEPTH):
            level = [upper for entry in level for upper in self.entries[entry][2]]
            for entry in level:
                for word in self.entries[entry][0]:
                    if word in wanted and word != name:
                        return word
        return None


def class_kinds(work: Path, names: Sequence[str]) -> list[str | None]:
    """For each class the everyday word above it, None where there is none; everyday are the words of emoji."""
    nouns = Nouns(work)
    words = {word.lower() for item in emoji(work) for word in (item.name, *item.tags)}
    everyday = frozenset(word for word in words if word.isalpha()) - _TOO_WIDE
    found: list[str | None] = []
    for name in map(str.lower, names):
        things = (entry for entry in nouns.meanings.get(name, [])[:3] if nouns.entries[entry][1] in _THINGS)
        meaning = next(things, None)
        found.append(nouns.above(meaning, everyday, name) if meaning else None)
    return found


def _entry(fields: list[str]) -> tuple[list[str], int, list[str]]:
    count = int(fields[3], 16)
    words = [fields[4 + 2 * number].replace("_", " ").lower() for number in range(count)]
    start = 4 + 2 * count
    pointers = [fields[start + 1 + 4 * number : start + 5 + 4 * number] for number in range(int(fields[start]))]
    return words, int(fields[1]), [pointer[1] for pointer in pointers if pointer[0] in ("@", "@i")]
