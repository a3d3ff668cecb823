"""The words of the training: what the text tower learns to read as its teacher does."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tools.train_nano.pictures import emoji, training_pictures
from tools.train_nano.sources import source

# WordNet's files of things: animal, artifact, body, food, object, person, phenomenon, plant, substance; and of acts.
CONCRETE = frozenset({4, 5, 6, 8, 11, 13, 15, 17, 18, 19, 20, 27, 28})
PARTS = ("noun", "verb", "adj", "adv")

SCENES = (
    "a {a} {n}", "a photo of a {n}", "a picture of a {a} {n}", "the {n}", "{n} and {m}", "a {n} next to a {m}",
    "a {n} on a {m}", "a {p} with a {n}", "a {p} {v} a {n}", "the {b} is {w} {l}", "a {b} {w} {l}", "two {b}s {w} {l}",
    "a {a} {b} {w} near a {m}", "{p}s {w} {l}", "a {c} {l}", "a {a} {c} parked {l}",
    "how to use a {n}", "sound of a {n}",
    "recipe with {f} and {g}", "a plate of {f} with {g}", "I am looking for my {n}",
    "the {p} bought a {a} {n} yesterday",
    "what does a {b} eat?", "where can I find a {n}?", "a close-up of a {a} {b}", "a {p} holding a {n} {l}",
    "drawing of a {n}", "a {b} sitting on a {m}", "a bowl of {f} on the table", "the {a} {n} in the {m}",
    "Our {p} says that the {n} is {a}.", "There is a {a} {n} {l}.", "We need {f}, {g} and a {n}.",
)  # fmt: skip
LOOKS = (
    "red", "blue", "green", "yellow", "black", "white", "brown", "pink", "grey", "small", "big", "old", "new", "happy",
    "sad", "broken", "wooden", "hot", "cold", "fresh", "quiet", "loud", "young", "wild", "dirty", "clean", "round",
    "tall", "tiny", "sleepy", "golden", "shiny", "wet", "dry", "empty", "busy", "dark", "bright",
    "colourful", "striped",
)  # fmt: skip
ACTS = (
    "running", "sleeping", "playing", "eating", "swimming", "jumping", "walking", "sitting",
    "standing", "looking around",
    "lying", "hiding", "drinking water", "resting", "waiting", "flying", "singing", "barking", "dancing", "working",
)  # fmt: skip
DEEDS = (
    "riding", "carrying", "washing", "painting", "buying", "repairing", "selling", "pushing", "drawing", "cleaning",
    "throwing", "using",
)  # fmt: skip
PLACES = (
    "on the beach", "in the park", "in the garden", "on the street", "in the snow", "under a tree", "in the kitchen",
    "at night", "by the river", "in the forest", "on the sofa", "in the water", "on a mountain",
    "in the city", "at home",
    "in the rain", "on the grass", "at sunset", "in the field", "at school", "in the office",
    "near the lake", "in the sky",
)  # fmt: skip


@dataclass(frozen=True)
class Synset:
    """A meaning of WordNet: its words, definition, example sentences, file number and how often it was counted."""

    words: tuple[str, ...]
    definition: str
    examples: tuple[str, ...]
    kind: int
    count: int


def synsets(work: Path) -> list[Synset]:
    """All meanings of WordNet 3.0, in the order of its files."""
    root = source(work, "wordnet-base") / "usr/share/wordnet"
    counts: Counter[str] = Counter()
    for line in (root / "cntlist.rev").read_text(encoding="utf-8").splitlines():
        key, _, count = line.split()
        counts[key.split("%")[0]] += int(count)
    return [
        _synset(line, counts)
        for part in PARTS
        for line in (root / f"data.{part}").read_text(encoding="utf-8").splitlines()
        if not line.startswith(" ")
    ]


def _synset(line: str, counts: Counter[str]) -> Synset:
    facts, _, gloss = line.partition(" | ")
    fields = facts.split()
    words = [re.sub(r"\(.*\)$", "", fields[4 + 2 * n]) for n in range(int(fields[3], 16))]
    examples = tuple(quote.strip() for quote in re.findall(r'"([^"]+)"', gloss))
    definition = re.sub(r'[;:]?\s*"[^"]*"', "", gloss).strip(" ;")
    # Counts belong to a word in all its meanings: enough to tell everyday words from rare ones.
    count = max(counts[word.lower()] for word in words)
    return Synset(tuple(word.replace("_", " ") for word in words), definition, examples, int(fields[1]), count)


def class_names(work: Path) -> list[str]:
    """The 1,000 ImageNet classes in the order of the classifier, from torchvision's metadata."""
    text = (source(work, "torchvision") / "torchvision/models/_meta.py").read_text(encoding="utf-8")
    listing = text[text.index("_IMAGENET_CATEGORIES") :]
    names = re.findall(r'^    "(.+)",$', listing[: listing.index("\n]")], flags=re.MULTILINE)
    if len(names) != 1000:
        raise ValueError(f"torchvision lists {len(names)} ImageNet classes; 1000 are due")
    return names


def class_synonyms(work: Path, names: list[str]) -> list[list[str]]:
    """For each class its name first, then the other words of the WordNet meaning that fits best, at most four."""
    by_word: dict[str, list[Synset]] = {}
    for entry in synsets(work):
        if entry.kind in CONCRETE:
            for word in entry.words:
                by_word.setdefault(word.lower(), []).append(entry)
    found = []
    for name in names:
        meanings = by_word.get(name.lower(), [])
        others = [word for entry in meanings[:1] for word in entry.words if word.lower() != name.lower()]
        found.append([name, *others[:4]])
    return found


def everyday_nouns(work: Path) -> dict[str, list[str]]:
    """Common nouns for scenes: things `n`, animals `b`, food `f`, persons `p`, vehicles `c`."""
    groups = {3: "b", 4: "f", 5: "c"}
    found: dict[str, list[str]] = {"n": [], "b": [], "f": [], "p": [], "c": []}
    for item in emoji(work):
        if item.group in (3, 4, 5, 6, 7) and len(item.name.split()) <= 2 and item.name.isascii():
            found["n"].append(item.name.lower())
            if item.group in groups:
                found[groups[item.group]].append(item.name.lower())
    for entry in synsets(work):
        word = entry.words[0]
        if entry.count >= 2 and word.isascii() and word.islower():
            key = {5: "b", 6: "n", 13: "f", 18: "p", 17: "n", 20: "n"}.get(entry.kind)
            if key:
                found[key].append(word)
    found["n"] += [name.lower() for name in class_names(work)]
    return found


def scenes(work: Path, count: int, seed: int = 0) -> list[str]:
    """Made-up everyday sentences and captions."""
    draw, nouns = random.Random(seed), everyday_nouns(work)
    choices = {
        "a": LOOKS, "w": ACTS, "v": DEEDS, "l": PLACES, "n": nouns["n"], "m": nouns["n"], "b": nouns["b"],
        "f": nouns["f"], "g": nouns["f"], "p": nouns["p"], "c": nouns["c"],
    }  # fmt: skip
    made = []
    for _ in range(count):
        scene = draw.choice(SCENES)
        made.append(scene.format(**{key: draw.choice(words) for key, words in choices.items()}))
    return list(dict.fromkeys(made))


def passages(work: Path, count: int, seed: int = 0) -> list[str]:
    """Longer texts: definitions, examples and scenes of neighbouring meanings joined, 30 to 300 words."""
    draw, entries = random.Random(seed), [entry for entry in synsets(work) if entry.definition]
    made = []
    for _ in range(count):
        start, length, parts = draw.randrange(len(entries) - 60), draw.choice((30, 60, 60, 120, 250)), []
        while sum(len(part.split()) for part in parts) < length and start < len(entries):
            entry = entries[start]
            parts.append(f"{entry.words[0].capitalize()}: {entry.definition}.")
            parts.extend(f"{example.capitalize()}." for example in entry.examples)
            start += draw.choice((1, 1, 1, 40))
        made.append(" ".join(parts))
    return made


def essentials(work: Path) -> list[str]:
    """Names and tags of pictures and the names of classes: what the other towers are trained against."""
    found = [text for item in training_pictures(work) for text in (item.name, *item.tags)]
    found += [text for item in emoji(work) for text in (item.name, *item.tags)]
    for names in class_synonyms(work, class_names(work)):
        found += [*names, f"a photo of a {names[0]}"]
    return sorted(set(found))


def corpus(work: Path) -> list[str]:
    """Every string of the distillation, each once, shuffled, so that any first part is a fair sample."""
    draw, entries = random.Random(1), synsets(work)
    found: list[str] = []
    for item in emoji(work):
        found += [item.name, *item.tags, f"{item.name}, {', '.join(item.tags[:4])}"]
    for names in class_synonyms(work, class_names(work)):
        found += names
    for entry in entries:
        known = entry.count > 0 or (entry.kind in CONCRETE and draw.random() < 0.35)
        if known:
            found += entry.words
            found += entry.examples
            found.append(entry.definition)
            if draw.random() < 0.3:
                found.append(f"{entry.words[0]}: {entry.definition}")
    found += scenes(work, 60_000)
    found += passages(work, 5_000)
    unique = list(dict.fromkeys(text.strip() for text in found if text.strip()))
    draw.shuffle(unique)
    return unique
