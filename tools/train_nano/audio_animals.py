"""Animals made from a buzz that glides in pitch, through resonances."""

from __future__ import annotations

import numpy as np

from tools.train_nano.audio_augment import RATE
from tools.train_nano.audio_waves import Rng, Wave, arch, band, glide, hits, time_line


def saw_wave(rng: Rng, pitch: Wave, formants: tuple[float, ...]) -> Wave:
    """A voice: a buzz that follows `pitch`, through a few resonances."""
    buzz = glide(pitch, 25, 0.8) + 0.05 * rng.standard_normal(len(pitch))
    return np.asarray(sum(band(buzz, f * 0.8, f * 1.25) for f in formants))


def barking(rng: Rng) -> Wave:
    size = rng.uniform(0.6, 1.6)

    def bark() -> Wave:
        t = time_line(rng.uniform(0.12, 0.25))
        pitch = (350 + 250 * arch(t)) * size
        voice = saw_wave(rng, pitch, (700 * size, 1300 * size, 2400)) + 0.3 * band(
            rng.standard_normal(len(t)), 500, 3000
        )
        return voice * arch(t) ** 0.5

    return hits(rng, rng.uniform(0.8, 3), (0.25, 0.8), bark)


def meowing(rng: Rng) -> Wave:
    def meow() -> Wave:
        t = time_line(rng.uniform(0.5, 1.1))
        bend = np.maximum(0.0, np.sin(np.pi * (t / t[-1]) ** 0.7))
        return saw_wave(rng, rng.uniform(450, 650) * (1 + 0.35 * bend), (900, 1700, 3200)) * bend

    return hits(rng, rng.uniform(1, 3), (1.2, 2.0), meow)


def mooing(rng: Rng) -> Wave:
    t = time_line(rng.uniform(1.2, 2.2))
    return saw_wave(rng, rng.uniform(110, 170) * (1 + 0.2 * arch(t)), (350, 700, 1100)) * arch(t)


def chirping(rng: Rng) -> Wave:
    def chirp() -> Wave:
        t = time_line(rng.uniform(0.04, 0.18))
        start, end = rng.uniform(2000, 5500, 2)
        trill = 1 + 0.1 * np.sin(2 * np.pi * rng.uniform(20, 60) * t)
        return glide(np.linspace(start, end, len(t)) * trill) * arch(t)

    return hits(rng, rng.uniform(1.5, 4), (0.06, 0.5), chirp)


def crickets(rng: Rng) -> Wave:
    t = time_line(rng.uniform(2, 4))
    return (
        glide(np.full(len(t), rng.uniform(3800, 5200)))
        * ((t * rng.uniform(25, 40)) % 1 < 0.5)
        * ((t * rng.uniform(1, 3)) % 1 < 0.6)
    )


def buzzing(rng: Rng) -> Wave:
    t = time_line(rng.uniform(1.5, 4))
    pitch = rng.uniform(150, 260) * (1 + 0.06 * np.sin(2 * np.pi * rng.uniform(0.5, 3) * t))
    return glide(pitch, 20, 0.7) * (1 + 0.3 * np.sin(2 * np.pi * rng.uniform(0.3, 1) * t))


def quacking(rng: Rng) -> Wave:
    def quack() -> Wave:
        size = int(rng.uniform(0.1, 0.2) * RATE)
        pitch = np.linspace(rng.uniform(220, 280), 180, size)
        return saw_wave(rng, pitch, (1100, 1900, 2800)) * np.hanning(size) ** 0.3

    return hits(rng, rng.uniform(1, 3), (0.25, 0.5), quack)


def hooting(rng: Rng) -> Wave:
    hoot = lambda n: glide(rng.uniform(330, 420) * (1 + 0.03 * np.hanning(n)), 2, 2) * np.hanning(n)  # noqa: E731
    return hits(rng, rng.uniform(2, 4), (0.5, 1.1), lambda: hoot(int(rng.uniform(0.25, 0.6) * RATE)))


def howling(rng: Rng) -> Wave:
    t = time_line(rng.uniform(2, 3.5))
    return (
        saw_wave(
            rng, rng.uniform(300, 450) * (1 + 0.6 * np.maximum(0.0, np.sin(np.pi * (t / t[-1]) ** 0.5))), (600, 1200)
        )
        * arch(t) ** 0.4
    )


def croaking(rng: Rng) -> Wave:
    def croak() -> Wave:
        t = time_line(rng.uniform(0.2, 0.5))
        return band(glide(np.full(len(t), rng.uniform(40, 80)), 40, 0.2), 400, 1600) * arch(t)

    return hits(rng, rng.uniform(1.5, 3), (0.4, 0.9), croak)
