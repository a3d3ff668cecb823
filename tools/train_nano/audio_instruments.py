"""Sounds and instruments of the FluidR3 sound fonts (MIT), played by `fluidsynth` from small MIDI files made here."""

from __future__ import annotations

import struct
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tools.train_nano.audio_voices import Audio, to_rate

# what it is (first name counts as the answer, the others are further words for it): (bank, program)
EFFECTS: dict[str, tuple[int, int]] = {
    "telephone|phone ringing": (0, 124), "telephone|ringing telephone": (1, 124), "wind|wind blowing": (3, 122),
    "river|stream, flowing water": (4, 122), "machine gun|gunfire": (1, 127), "person screaming|scream": (2, 126),
    "horse|horse galloping": (2, 123), "laughing|people laughing": (1, 126), "airplane|jet plane": (7, 125),
    "train|train passing": (6, 125), "footsteps|person walking": (5, 126),
    "siren|police car siren, ambulance": (5, 125),
    "wind chime|wind chimes": (5, 124), "bubbles|bubbling water": (5, 122), "heartbeat|heart beating": (4, 126),
    "car crash|accident": (4, 125), "explosion|bomb exploding": (3, 127), "punch|boxing": (3, 126),
    "car|car passing by": (3, 125), "door|door slamming": (3, 124), "bird|birds singing": (3, 123),
    "car|car braking, tires": (2, 125), "door|creaking door": (2, 124), "car|car engine starting": (1, 125),
    "dog|dog barking": (1, 123), "rain|rain falling": (1, 122), "thunder|thunderstorm, lightning": (2, 122),
    "gun|gun shot": (0, 127), "helicopter|helicopter flying": (0, 125), "applause|clapping hands": (0, 126),
    "ocean|waves at the sea shore": (0, 122), "bird|bird tweeting": (0, 123), "music box|jewelry box music": (0, 10),
    "church|church bell": (8, 14), "flying saucer|spaceship": (8, 125), "whistle|whistling": (0, 78),
}  # fmt: skip
INSTRUMENTS: dict[str, tuple[int, ...]] = {
    "piano|musical keyboard": (0, 1, 3), "electric piano|keyboard": (4, 5), "harpsichord|keyboard": (6,),
    "bell|glockenspiel": (9, 8), "vibraphone": (11,), "marimba": (12,), "xylophone": (13,), "bell|tubular bells": (14,),
    "church organ|organ": (19,), "organ": (16, 17, 18, 20), "accordion": (21, 23), "harmonica": (22,),
    "guitar|acoustic guitar": (24, 25), "guitar|electric guitar": (26, 27, 28, 29, 30), "bass guitar": (32, 33, 34),
    "violin": (40, 110), "viola|violin": (41,), "cello": (42,), "double bass": (43,), "orchestra|strings": (48, 49, 45),
    "harp": (46,), "drum|timpani": (47,), "choir|people singing": (52, 53), "trumpet": (56, 59), "trombone": (57,),
    "tuba": (58,), "french horn|postal horn": (60,), "brass band": (61,), "saxophone": (64, 65, 66, 67),
    "oboe": (68, 69),
    "bassoon": (70,), "clarinet": (71,), "flute|piccolo": (72, 73), "recorder|flute": (74,), "pan flute": (75,),
    "bottle": (76,), "ocarina": (79,), "sitar": (104,), "banjo": (105,), "koto": (107,), "bagpipe": (109,),
    "steel drum": (114,), "drum|taiko drum": (116, 117), "cowbell": (113,), "woodblock": (115,),
    "synthesizer|musical keyboard": (80, 81, 90), "kalimba": (108,),
}  # fmt: skip


def _quantity(value: int) -> bytes:
    out = [value & 0x7F]
    while value := value >> 7:
        out.append(0x80 | (value & 0x7F))
    return bytes(reversed(out))


def _midi(bank: int, program: int, notes: list[tuple[float, float, int]]) -> bytes:
    """A one-track file at 100 ticks a second: notes are (start, length, key) in seconds."""
    events = [(0.0, bytes([0xB0, 0, bank])), (0.0, bytes([0xC0, program]))]
    for start, length, key in notes:
        events += [(start + 0.05, bytes([0x90, key, 100])), (start + 0.05 + length, bytes([0x80, key, 0]))]
    track, now = b"", 0
    for at, event in sorted(events, key=lambda e: e[0]):
        track += _quantity(int(at * 100) - now) + event
        now = int(at * 100)
    track = b"\x00\xff\x51\x03\x0f\x42\x40" + track + b"\x64\xff\x2f\x00"
    return b"MThd" + struct.pack(">IHHH", 6, 0, 1, 100) + b"MTrk" + struct.pack(">I", len(track)) + track


def play(font: Path, bank: int, program: int, notes: list[tuple[float, float, int]]) -> Audio:
    """Mono 16 kHz sound of some notes; silence at the end is cut."""
    with tempfile.TemporaryDirectory() as folder:
        song, wave = Path(folder) / "a.mid", Path(folder) / "a.raw"
        song.write_bytes(_midi(bank, program, notes))
        command = ["fluidsynth", "-n", "-i", "-q", "-g", "0.8", "-r", "32000", "-T", "raw", "-O", "s16"]
        command += ["-F", str(wave), str(font), str(song)]
        subprocess.run(command, check=True, capture_output=True)
        audio = np.fromfile(wave, np.int16).reshape(-1, 2).mean(1) / 32768.0
    loud = np.flatnonzero(np.abs(audio) > 0.003 * (np.abs(audio).max(initial=0) + 1e-6))
    return to_rate(audio[: int(loud[-1]) + 1 if len(loud) else 1], 32_000)


def effect_notes(rng: np.random.Generator) -> list[tuple[float, float, int]]:
    """One to three hits of an effect around its natural pitch."""
    key, at, notes = int(rng.integers(55, 67)), 0.0, []
    for _ in range(int(rng.integers(1, 4))):
        length = float(rng.uniform(0.4, 2.5))
        notes.append((at, length, key))
        at += length * float(rng.uniform(0.6, 1.2))
    return notes


def melody(rng: np.random.Generator) -> list[tuple[float, float, int]]:
    """A few notes or chords of a scale, 1 to 4 seconds."""
    root, at, notes = int(rng.integers(45, 72)), 0.0, []
    step = float(rng.uniform(0.15, 0.6))
    for _ in range(int(rng.integers(1, 9))):
        keys = root + rng.choice([0, 2, 4, 5, 7, 9, 11, 12, 16], size=3 if rng.random() < 0.2 else 1, replace=False)
        notes += [(at, step * float(rng.uniform(0.7, 2.0)), int(k)) for k in keys]
        at += step * float(rng.choice([1, 1, 2]))
    return notes
