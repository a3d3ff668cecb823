"""Make the sounds of the sample library, and write the hash column of its SOURCES.md.

    python -m tools.make_samples sounds    # needs flite, espeak-ng, fluidsynth, a SoundFont and Sonic Pi's samples
    python -m tools.make_samples hashes    # after any change below assets/library

The first needs Debian's `flite espeak-ng fluidsynth fluid-soundfont-gs sonic-pi-samples`. Every clip is a row of a
table below, so what was said, by which voice, and where a recording came from is read here and nowhere else.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import struct
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

LIBRARY = Path(__file__).resolve().parent.parent / "assets" / "library"
SOUNDFONT = Path("/usr/share/sounds/sf2/FluidR3_GS.sf2")
RECORDINGS = Path("/usr/share/sonic-pi/samples")
TICKS = 960  # MIDI ticks a second: division 480 at the default tempo
PEAK = 0.7

Samples = NDArray[np.float32]


@dataclass(frozen=True)
class Spoken:
    """A sentence; a voice of espeak-ng starts with its language, one of flite is a bare name."""

    file: str
    voice: str
    text: str
    rate: int = 16_000


@dataclass(frozen=True)
class Played:
    """Notes of one preset of the SoundFont: (start s, length s, key) each."""

    file: str
    preset: tuple[int, int]
    notes: tuple[tuple[float, float, int], ...]
    seconds: float
    rate: int = 22_050


@dataclass(frozen=True)
class Recorded:
    """The first seconds of a recording out of Sonic Pi's samples."""

    file: str
    source: str
    seconds: float
    rate: int = 44_100


SPOKEN = (
    Spoken("dog-at-the-gate.ogg", "slt", "The dog is barking at the gate, because the postman is coming."),
    Spoken("sleeping-cat.ogg", "rms", "A small cat is asleep on the sofa, purring softly."),
    Spoken("horses-in-the-stable.flac", "awb", "The horses are in the stable, eating hay."),
    Spoken("birds-in-the-morning.ogg", "en-gb", "Early in the morning, the birds begin to sing."),
    Spoken("car-will-not-start.ogg", "slt", "My car will not start. I think the battery is flat."),
    Spoken("train-announcement.wav", "en-us", "The train to the coast leaves from platform four in ten minutes."),
    Spoken("sailing-boat.ogg", "rms", "We sailed the little boat across the bay, and back before dark."),
    Spoken("flat-tyre.ogg", "awb", "Her bicycle has a flat tyre, so she is walking to work."),
    Spoken("guitar-lesson.ogg", "slt", "Today you will learn your first three chords on the guitar."),
    Spoken("apples-from-the-garden.flac", "kal16", "These apples are from our own garden. Try one, they are sweet."),
    Spoken("morning-coffee.ogg", "en-gb", "I would like a cup of coffee, with a little milk, please."),
    Spoken("watering-flowers.ogg", "slt", "Please water the flowers while we are away."),
    Spoken("old-oak-tree.ogg", "rms", "The old oak tree lost a large branch in the storm."),
    Spoken("mountain-weather.ogg", "en-us", "There will be snow in the mountains tonight, and strong wind."),
    Spoken("house-for-sale.wav", "awb", "The house on the corner is for sale. It has a red door and a garden."),
    Spoken("clock-stopped.ogg", "kal16", "The clock on the wall has stopped. What time is it?"),
    Spoken("answer-the-telephone.ogg", "rms", "Could you answer the telephone? I am in the kitchen."),
)

PLAYED = (
    Played("dog-bark.flac", (1, 123), ((0.1, 0.4, 60), (0.6, 0.4, 60), (1.5, 0.4, 60), (1.95, 0.4, 60)), 2.6),
    Played("horse-gallop.ogg", (2, 123), ((0.0, 3.4, 60),), 3.6),
    Played("bird-song.ogg", (3, 123), ((0.1, 0.9, 60), (1.2, 0.9, 62), (2.3, 1.2, 60)), 3.8),
    Played("car-engine.wav", (1, 125), ((0.0, 3.2, 60),), 3.4),
    Played("passing-train.ogg", (6, 125), ((0.0, 4.0, 60),), 4.2),
    Played("rain.ogg", (1, 122), ((0.0, 4.6, 60),), 5.0, 32_000),
    Played("telephone-ring.ogg", (1, 124), ((0.0, 1.4, 60), (2.0, 1.4, 60)), 3.6),
)

RECORDED = (
    Recorded("guitar-chord.ogg", "guit_em9.flac", 5.0),
    Recorded("piano-notes.ogg", "ambi_piano.flac", 4.0),
)


def speak(row: Spoken, wav: Path) -> Samples:
    """Mono speech of one row, by flite or espeak-ng."""
    if "-" in row.voice:
        command = ["espeak-ng", "-v", row.voice, "-s", "150", "-w", str(wav), row.text]
    else:
        command = ["flite", "-voice", row.voice, "-t", row.text, "-o", str(wav)]
    subprocess.run(command, check=True)
    return read_mono(wav, row.rate)


def play(row: Played, wav: Path) -> Samples:
    """Render the notes of one row with fluidsynth, dry, cut to the seconds asked for."""
    midi = wav.with_suffix(".mid")
    midi.write_bytes(midi_file(row))
    subprocess.run(
        ["fluidsynth", "-ni", "-q", "-R", "0", "-C", "0", "-g", "0.8", "-F", str(wav), str(SOUNDFONT), str(midi)],
        check=True,
    )
    return fade(read_mono(wav, row.rate)[: int(row.seconds * row.rate)], row.rate)


def midi_file(row: Played) -> bytes:
    """A format 0 MIDI file that selects the bank and program of the row and plays its notes."""
    bank, program = row.preset
    events = [(0, bytes((0xB0, 0, bank))), (0, bytes((0xC0, program)))]
    for start, length, key in row.notes:
        events.append((int(start * TICKS), bytes((0x90, key, 110))))
        events.append((int((start + length) * TICKS), bytes((0x80, key, 0))))
    track, now = b"", 0
    for tick, message in sorted(events, key=lambda event: event[0]):
        track += variable_length(tick - now) + message
        now = tick
    track += variable_length(TICKS) + b"\xff\x2f\x00"
    return b"MThd" + struct.pack(">IHHH", 6, 0, 1, TICKS // 2) + b"MTrk" + struct.pack(">I", len(track)) + track


def variable_length(value: int) -> bytes:
    """MIDI's number of 7 bits a byte, the highest first."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F | 0x80)
    return bytes(reversed(groups))


def record(row: Recorded) -> Samples:
    """The head of one recording, faded out."""
    return fade(read_mono(RECORDINGS / row.source, row.rate)[: int(row.seconds * row.rate)], row.rate)


def church_bell(rate: int) -> Samples:
    """Two strokes of a bell in C5 by additive synthesis: hum, prime, minor third, fifth, nominal and above."""
    partials = ((0.5, 1.0, 4.0), (1.0, 0.9, 2.6), (1.2, 0.8, 2.0), (1.5, 0.4, 1.6), (2.0, 0.9, 1.3), (3.0, 0.3, 0.7))
    time = np.arange(int(5.5 * rate)) / rate
    sound = np.zeros_like(time)
    for start in (0.05, 2.4):
        since = np.maximum(time - start, 0.0)
        for ratio, level, decay in partials:
            sound += (time >= start) * level * np.exp(-since / decay) * np.sin(2 * np.pi * 523.25 * ratio * since)
    return fade(sound.astype(np.float32), rate)


def ticking_clock(rate: int) -> Samples:
    """Five seconds of tick and tock: short decaying clicks, half a second apart, of two pitches in turn."""
    time = np.arange(5 * rate) / rate
    phase = time % 0.5
    pitch = np.where((time // 0.5) % 2 == 0, 2_600.0, 1_900.0)
    return (np.exp(-phase / 0.006) * np.sin(2 * np.pi * pitch * phase)).astype(np.float32)


def sea_waves(rate: int) -> Samples:
    """Six seconds of surf: noise with more bass than treble, swelling twice."""
    noise = np.random.default_rng(7).standard_normal(6 * rate)
    spectrum = np.fft.rfft(noise)
    frequency = np.fft.rfftfreq(noise.size, 1 / rate)
    surf = np.fft.irfft(spectrum / np.sqrt(1 + (frequency / 400) ** 2), noise.size)
    swell = 0.15 + np.sin(np.pi * np.arange(noise.size) / (3 * rate)) ** 4
    return fade((surf * swell).astype(np.float32), rate)


SYNTHESISED: dict[str, tuple[Callable[[int], Samples], int]] = {
    "church-bell.flac": (church_bell, 22_050),
    "ticking-clock.wav": (ticking_clock, 16_000),
    "sea-waves.ogg": (sea_waves, 22_050),
}


def read_mono(path: Path, rate: int) -> Samples:
    samples, own = soundfile.read(path, dtype="float32", always_2d=True)
    mono: Samples = soxr.resample(samples.mean(axis=1), own, rate).astype(np.float32)
    return mono


def fade(samples: Samples, rate: int, seconds: float = 0.15) -> Samples:
    length = min(int(seconds * rate), samples.size)
    samples[samples.size - length :] *= np.linspace(1, 0, length, dtype=np.float32)
    return samples


def write(file: str, samples: Samples, rate: int) -> None:
    """Write a clip at one loudness; the suffix chooses the format (Ogg's random stream number changes its hash)."""
    peak = float(np.abs(samples).max())
    path = LIBRARY / "sounds" / file
    soundfile.write(path, samples * (PEAK / peak), rate, subtype="VORBIS" if path.suffix == ".ogg" else "PCM_16")


def make_sounds() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for spoken in SPOKEN:
            write(spoken.file, speak(spoken, Path(folder) / "speech.wav"), spoken.rate)
        for played in PLAYED:
            write(played.file, play(played, Path(folder) / "played.wav"), played.rate)
    for recorded in RECORDED:
        write(recorded.file, record(recorded), recorded.rate)
    for file, (make, rate) in SYNTHESISED.items():
        write(file, make(rate), rate)


def write_hashes() -> None:
    """Put the sha256 of each listed file into the last column of SOURCES.md."""
    sources = LIBRARY / "SOURCES.md"
    lines = []
    for line in sources.read_text(encoding="utf-8").splitlines():
        if row := re.match(r"\| `([^`]+)` \|.*\| *(`[0-9a-f]*`)? *\|$", line):
            digest = hashlib.sha256((LIBRARY / row[1]).read_bytes()).hexdigest()
            line = f"{line.rsplit('|', 2)[0]}| `{digest}` |"
        lines.append(line)
    sources.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("sounds", "hashes"))
    if parser.parse_args().step == "sounds":
        make_sounds()
    write_hashes()


if __name__ == "__main__":
    main()
