"""Recordings for evaluation only, with the words that should find them: human voices and real sounds.

Sources: `ktuberling-data` (GPL-2), `tuxpaint-stamps-default` (GPL-2), `scratch` (CC-BY-SA-2.0). Never trained on.
"""

from __future__ import annotations

import re
from pathlib import Path

from tools.train_nano.audio_sounds import Clip, read
from tools.train_nano.audio_sources import folder

WORDS = {"palmtree": "palm tree", "fallingstar": "shooting star", "broccolli": "broccoli", "ufo": "flying saucer"}
SOUNDS = {
    "Dog1": "dog", "Dog2": "dog", "SeaLion": "seal", "HorseGallop": "horse", "Owl": "owl", "Rooster": "rooster",
    "Bird": "bird", "WolfHowl": "wolf", "Crickets": "cricket", "Cricket": "cricket", "Kitten": "cat", "Meow": "cat",
    "Cat": "cat", "Goose": "goose", "Duck": "duck", "Horse": "horse", "GuitarStrum": "guitar", "Trumpet1": "trumpet",
    "Trumpet2": "trumpet", "Gong": "bell", "HandClap": "clapping hands", "CymbalCrash": "drum", "RideCymbal": "drum",
    "WaterDrop": "droplet", "Typing": "keyboard", "MotorcyclePassing": "motorcycle", "WaterRunning": "potable water",
    "BellToll": "bell", "DoorClose": "door", "DoorCreak": "door", "CarPassing": "automobile", "Bubbles": "bubbles",
    "DoorBell": "bell", "BabyCry": "baby", "Footsteps-1": "footprints", "Footsteps-2": "footprints",
}  # fmt: skip
ALSO = {"drake": "duck", "blackbird": "black bird", "nandou": "bird", "hen": "chicken", "gander": "goose"}


def human_words(work: Path) -> list[Clip]:
    """Single English words of ktuberling, spoken by a person."""
    root = folder(work, "ktuberling-data") / "usr/share/ktuberling/sounds/en"
    found = []
    for path in sorted(root.glob("*.ogg")):
        stem = re.sub(r"^(egypt|moon|pizzeria|tv)_", "", path.stem)
        found.append((WORDS.get(stem, stem), read(path, 30.0)))
    return found


def human_sentences(work: Path) -> list[Clip]:
    """Animals of tuxpaint, named by a person ("A brown bear."); the text is the caption."""
    root = folder(work, "tuxpaint-stamps-default") / "usr/share/tuxpaint/stamps"
    found = []
    for path in sorted(root.rglob("*_desc.ogg")):
        caption = path.with_name(path.name.replace("_desc.ogg", ".txt"))
        if caption.is_file():
            found.append((caption.read_text("utf-8").splitlines()[0].strip(), read(path, 30.0)))
    return found


def real_sounds(work: Path) -> list[Clip]:
    """Recorded sounds of Scratch and of tuxpaint's animals, with the name of what makes them."""
    root = folder(work, "scratch") / "usr/share/scratch/Media/Sounds"
    paths = sorted(root.rglob("*.wav")) + sorted(root.rglob("*.mp3"))
    found = [(SOUNDS[p.stem], read(p, 30.0)) for p in paths if p.stem in SOUNDS]
    stamps = folder(work, "tuxpaint-stamps-default") / "usr/share/tuxpaint/stamps/animals"
    for path in sorted(stamps.rglob("*.ogg")):
        if "_desc" not in path.name and re.fullmatch(r"[a-z]+", path.stem):
            found.append((ALSO.get(path.stem, path.stem), read(path, 30.0)))
    return found


KINDS = {"held-human": human_words, "held-stamps": human_sentences, "held-sounds": real_sounds}
