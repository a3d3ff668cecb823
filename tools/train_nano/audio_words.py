"""What is spoken in training and evaluation: everyday names, dictionary words and short sentences.

Names and tags come from `emojibase-data` (MIT), words and example sentences from WordNet 3.0 (WordNet licence).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

EVERYDAY_GROUPS = (3, 4, 5, 6, 7)  # animals and nature, food, travel, activities, objects
SPOKEN_GROUPS = (0, 1, 3, 4, 5, 6, 7, 8)
CONCRETE = {5, 6, 8, 13, 17, 18, 19, 20, 27}  # WordNet's animal, artifact, body, food, object, person, phenomenon ...
WORDNET = Path("/usr/share/wordnet")

TEMPLATES = (
    "a {n}",
    "the {n}",
    "a picture of a {n}",
    "a photo of a {n}",
    "show me a {n}",
    "find the {n}",
    "where is the {n}",
    "a {a} {n}",
    "the {n} is {a}",
    "a {n} and a {m}",
    "the {n} next to the {m}",
    "a {n} with a {m}",
    "I like the {n}",
    "there is a {n} on the {m}",
    "how to cook {f}",
    "a recipe with {f} and {g}",
    "the {b} is sleeping in the sun",
    "a {b} playing with a {m}",
    "two {n}s in the garden",
    "a {c} driving down the street",
    "the sound of a {n}",
    "my {n} is broken",
    "we bought a new {n}",
    "a {a} {b} sitting on a {m}",
    "the {b} ate the {f}",
    "looking for a {n}",
    "notes about the {n}",
    "a walk with the {b} in the park",
    "the {n} in the {a} room",
    "please buy {f} and {g}",
    "{n} and {m}",
    "a story about a {b}",
    "a {c} in the city at night",
    "children playing with a {n}",
)
ADJECTIVES = (
    "red", "blue", "green", "yellow", "black", "white", "brown", "pink", "small", "big", "old", "new", "happy", "sad",
    "broken", "beautiful", "wooden", "hot", "cold", "fresh", "quiet", "loud", "young", "wild", "dirty", "clean",
    "round",
)  # fmt: skip


def _emoji(package: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads((package / "en" / "data.json").read_text("utf-8"))
    return rows


def spoken(name: str) -> str:
    """A name as a person would say it: no punctuation, no brackets."""
    return re.sub(r"\s+", " ", re.sub(r"[^a-z0-9' ]", " ", name.lower().replace("’", "'"))).strip()


def everyday_names(package: Path) -> list[str]:
    """About 860 names of animals, food, travel, activities and objects, each once, in the order of the package."""
    return list(dict.fromkeys(spoken(str(r["label"])) for r in _emoji(package) if r.get("group") in EVERYDAY_GROUPS))


def name_tags(package: Path) -> dict[str, list[str]]:
    """Name -> tags, for every group that people speak about (no flags, no skin tones)."""
    table: dict[str, list[str]] = {}
    for row in _emoji(package):
        tags = row.get("tags")
        if row.get("group") in SPOKEN_GROUPS and isinstance(tags, list):
            table.setdefault(spoken(str(row["label"])), [spoken(str(t)) for t in tags])
    return table


def _subgroup(package: Path, groups: tuple[int, ...], limit_words: int = 2) -> list[str]:
    names = [spoken(str(r["label"])) for r in _emoji(package) if r.get("group") in groups]
    return [n for n in names if len(n.split()) <= limit_words]


@cache
def _noun_kinds() -> dict[str, int]:
    """Lemma -> lexicographer file of its first sense."""
    kinds: dict[int, int] = {}
    for line in (WORDNET / "data.noun").open(encoding="utf-8"):
        if not line.startswith(" "):
            offset, kind = line.split(" ", 2)[:2]
            kinds[int(offset)] = int(kind)
    table = {}
    for line in (WORDNET / "index.noun").open(encoding="utf-8"):
        if not line.startswith(" "):
            parts = line.split()
            table[parts[0]] = kinds[int(parts[-int(parts[2])])]
    return table


def dictionary_words(nouns: int = 4500, others: int = 1500) -> list[str]:
    """The most used lemmas of WordNet; concrete nouns count four times, since people search for things."""
    counts: dict[str, Counter[str]] = {"noun": Counter(), "other": Counter()}
    for line in (WORDNET / "cntlist.rev").open(encoding="utf-8"):
        key, _, count = line.split()
        lemma, sense = key.split("%")
        counts["noun" if sense[0] == "1" else "other"][lemma] += int(count)
    kinds = _noun_kinds()
    weighted = {w: c * (4 if kinds.get(w) in CONCRETE else 1) for w, c in counts["noun"].items()}
    plain = re.compile(r"^[a-z]{3,12}(_[a-z]{3,10})?$")
    best = sorted((w for w in weighted if plain.match(w)), key=lambda w: (-weighted[w], w))[:nouns]
    rest = sorted((w for w in counts["other"] if plain.match(w)), key=lambda w: (-counts["other"][w], w))[:others]
    return list(dict.fromkeys(w.replace("_", " ") for w in [*best, *rest]))


def example_sentences(most_words: int = 9) -> list[str]:
    """WordNet's example sentences of 3 to 9 words, sorted."""
    found: set[str] = set()
    for part in ("noun", "verb", "adj", "adv"):
        for line in (WORDNET / f"data.{part}").open(encoding="utf-8"):
            if not line.startswith(" ") and "|" in line:
                for quote in re.findall(r'"([^"]+)"', line.split("|", 1)[1]):
                    text = spoken(quote)
                    if 3 <= len(text.split()) <= most_words and text.isascii():
                        found.add(text)
    return sorted(found)


def template_sentences(package: Path, count: int, seed: int) -> list[str]:
    """Sentences of everyday words in fixed frames; the same seed gives the same list."""
    rng = np.random.default_rng(seed)
    pools = {
        "n": _subgroup(package, (3, 4, 5, 6, 7)), "m": _subgroup(package, (7, 5), 1), "f": _subgroup(package, (4,)),
        "g": _subgroup(package, (4,), 1), "b": _subgroup(package, (3,), 1), "c": _subgroup(package, (5,)),
        "a": list(ADJECTIVES),
    }  # fmt: skip
    words = [w for w in dictionary_words(1500, 0) if _noun_kinds().get(w.replace(" ", "_")) in CONCRETE]
    pools["n"], pools["m"] = pools["n"] + words, pools["m"] + words[:400]
    lines = []
    for _ in range(count):
        frame = TEMPLATES[int(rng.integers(len(TEMPLATES)))]
        lines.append(frame.format(**{k: v[int(rng.integers(len(v)))] for k, v in pools.items()}))
    return lines
