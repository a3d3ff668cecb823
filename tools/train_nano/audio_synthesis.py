"""Weather, machines and things made from noise, tones and pulses: rough, but each the right kind of movement."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.signal import lfilter

from tools.train_nano.audio_animals import (
    barking,
    buzzing,
    chirping,
    crickets,
    croaking,
    hooting,
    howling,
    meowing,
    mooing,
    quacking,
)  # fmt: skip
from tools.train_nano.audio_augment import RATE, coloured_noise
from tools.train_nano.audio_waves import Rng, Wave, band, decay, glide, hits, strike, time_line


def rain(rng: Rng) -> Wave:
    seconds = rng.uniform(2, 5)
    drops = hits(rng, seconds, (0.002, 0.02), lambda: decay(rng.standard_normal(200) * rng.uniform(0.2, 2), 0.002))
    return band(coloured_noise(rng, int(seconds * RATE), 0.5), 400, 7000) * 0.5 + band(drops, 1000, 7000)


def wind(rng: Rng) -> Wave:
    t = time_line(rng.uniform(3, 6))
    swell = 1.2 + np.sin(2 * np.pi * rng.uniform(0.15, 0.5) * t + rng.uniform(0, 6)) + 0.3 * np.sin(2 * np.pi * 1.1 * t)
    return band(coloured_noise(rng, len(t), 1.0), 100, rng.uniform(500, 1200)) * swell


def sea(rng: Rng) -> Wave:
    t = time_line(rng.uniform(4, 7))
    swell = np.maximum(0.1, np.sin(2 * np.pi * t / rng.uniform(3, 5) + rng.uniform(0, 6))) ** 1.5
    return coloured_noise(rng, len(t), 1.0) * swell


def stream(rng: Rng) -> Wave:
    def plop() -> Wave:
        t = time_line(0.05)
        return decay(glide(rng.uniform(400, 1800) * (1 + t * 8)), 0.01) * rng.uniform(0.2, 1)

    seconds = rng.uniform(2, 4)
    return hits(rng, seconds, (0.005, 0.03), plop) + 0.3 * band(rng.standard_normal(int(seconds * RATE)), 800, 5000)


def drip(rng: Rng) -> Wave:
    def plop() -> Wave:
        t = time_line(0.12)
        return decay(glide(rng.uniform(700, 1100) * (1 + t * 6)), 0.025)

    return hits(rng, rng.uniform(2, 4), (0.4, 1.2), plop)


def fire(rng: Rng) -> Wave:
    seconds = rng.uniform(2, 5)
    crack = hits(rng, seconds, (0.01, 0.25), lambda: decay(rng.standard_normal(300) * rng.uniform(0.3, 3), 0.003))
    return band(crack, 600, 7000) + 0.25 * coloured_noise(rng, int(seconds * RATE), 2.0)


def thunder(rng: Rng) -> Wave:
    boom = decay(coloured_noise(rng, int(rng.uniform(3, 5) * RATE), 2.0), rng.uniform(0.5, 1.0))
    crack = np.zeros(len(boom))
    crack[: RATE // 4] = decay(rng.standard_normal(RATE // 4), 0.05)
    return boom * (1 + 0.5 * coloured_noise(rng, len(boom), 3.0)) + crack * rng.uniform(0, 1)


def clock(rng: Rng) -> Wave:
    beat, number = rng.choice([0.5, 1.0, 0.25]), iter(range(1000))

    def tick() -> Wave:
        base = 2500.0 if next(number) % 2 else 1900.0
        return strike(rng, base * rng.uniform(0.98, 1.02), (1, 1.7, 2.4), 0.006)

    return hits(rng, rng.uniform(2, 5), (beat, beat * 1.01), tick)


def bell(rng: Rng) -> Wave:
    base, ring = rng.uniform(300, 900), rng.uniform(0.3, 0.9)
    toll = lambda: strike(rng, base, (0.5, 1, 1.2, 1.5, 2, 2.5, 3, 4.1), ring)  # noqa: E731
    return hits(rng, rng.uniform(2, 5), (0.8, 2.0), toll)


def bicycle_bell(rng: Rng) -> Wave:
    base = rng.uniform(1500, 2800)
    return hits(rng, rng.uniform(0.6, 2), (0.07, 0.3), lambda: strike(rng, base, (1, 1.48, 2.1, 2.7), 0.15))


def doorbell(rng: Rng) -> Wave:
    high = rng.uniform(600, 900)
    first, second = strike(rng, high, (1, 2, 3), 0.35), strike(rng, high * 0.79, (1, 2, 3), 0.45)
    out = np.zeros(int(2.4 * RATE))
    out[: len(first[: len(out)])] += first[: len(out)]
    start = int(0.55 * RATE)
    out[start:] += np.pad(second, (0, len(out)))[: len(out) - start]
    return out


def alarm(rng: Rng) -> Wave:
    t = time_line(rng.uniform(1.5, 4))
    pitch = rng.uniform(900, 2500)
    beep = (t * rng.uniform(3, 9)) % 1 < 0.5
    pause = (t * rng.choice([0.8, 1.0, 1.3])) % 1 < 0.6
    return glide(np.full(len(t), pitch), 3) * beep * pause


def phone(rng: Rng) -> Wave:
    t = time_line(rng.uniform(2, 4))
    low, high = rng.choice([(440.0, 480.0), (400.0, 450.0), (1000.0, 1250.0), (1500.0, 1900.0)])
    warble = np.where((t * 20) % 1 < 0.5, low, high)
    return glide(warble, 3) * ((t * 0.5) % 1 < 0.6)


def siren(rng: Rng) -> Wave:
    t = time_line(rng.uniform(2.5, 6))
    low, high = rng.uniform(400, 700), rng.uniform(1000, 1700)
    rate, kind = rng.uniform(0.2, 3.0), rng.integers(2)
    sweep = (np.sin(2 * np.pi * rate * t) + 1) / 2 if kind else ((t * rng.uniform(0.8, 1.6)) % 1 < 0.5) * 0.6
    return glide(low + (high - low) * sweep, 6)


def horn(rng: Rng) -> Wave:
    t = time_line(rng.uniform(0.4, 1.6))
    base = rng.uniform(300, 520)
    return glide(np.full(len(t), base), 14, 0.6) + glide(np.full(len(t), base * 1.26), 14, 0.6)


def engine(rng: Rng) -> Wave:
    t = time_line(rng.uniform(2, 5))
    rate = rng.uniform(20, 60) * (1 + rng.choice([0, 1.5]) * (t / t[-1]) ** 2)
    pulses = glide(rate, 30, 0.5) * (1 + 0.4 * coloured_noise(rng, len(t), 1.0))
    return pulses + 0.3 * coloured_noise(rng, len(t), 1.5)


def motorcycle(rng: Rng) -> Wave:
    t = time_line(rng.uniform(2, 4))
    rate = rng.uniform(35, 70) * (1 + rng.uniform(0.5, 2) * np.abs(np.sin(2 * np.pi * rng.uniform(0.1, 0.4) * t)))
    return glide(rate, 40, 0.3) * (1 + 0.7 * rng.standard_normal(len(t)))


def airplane(rng: Rng) -> Wave:
    t = time_line(rng.uniform(3, 6))
    rise = np.exp(-(((t - t[-1] / 2) / (t[-1] / 3)) ** 2))
    return (coloured_noise(rng, len(t), 1.2) + 0.1 * glide(rng.uniform(1800, 3000) * (1.1 - 0.2 * t / t[-1]))) * rise


def helicopter(rng: Rng) -> Wave:
    t = time_line(rng.uniform(2, 5))
    beat = np.maximum(0, np.sin(2 * np.pi * rng.uniform(9, 16) * t)) ** 4
    return coloured_noise(rng, len(t), 1.3) * (0.2 + beat)


def train(rng: Rng) -> Wave:
    t = time_line(rng.uniform(2.5, 5))
    clack = hits(rng, t[-1], (0.1, 0.35), lambda: decay(rng.standard_normal(1500), 0.02))
    return coloured_noise(rng, len(t), 1.5)[: len(clack)] * 0.4 + band(clack, 100, 2500)


def clapping(rng: Rng) -> Wave:
    gaps = (0.002, 0.02) if rng.random() < 0.6 else (0.2, 0.45)
    clap = lambda: decay(rng.standard_normal(1200), 0.008) * rng.uniform(0.3, 1)  # noqa: E731
    return band(hits(rng, rng.uniform(1.5, 4), gaps, clap), 700, 4500)


def footsteps(rng: Rng) -> Wave:
    step, thud = rng.uniform(0.35, 0.6), lambda: decay(coloured_noise(rng, 2500, 1.2), 0.02)
    return band(hits(rng, rng.uniform(2, 4), (step, step * 1.1), thud), 80, 2500)


def knocking(rng: Rng) -> Wave:
    def knock() -> Wave:
        wood = strike(rng, rng.uniform(140, 260), (1, 2.3, 3.9, 5.2), 0.02)
        return wood + decay(rng.standard_normal(len(wood)), 0.004)

    return hits(rng, rng.uniform(0.7, 2), (0.15, 0.35), knock)


def typing(rng: Rng) -> Wave:
    key = lambda: decay(rng.standard_normal(500), 0.004) * rng.uniform(0.4, 1)  # noqa: E731
    return band(hits(rng, rng.uniform(2, 4), (0.05, 0.3), key), 1500, 7000)


def explosion(rng: Rng) -> Wave:
    return decay(coloured_noise(rng, int(rng.uniform(1.5, 3) * RATE), 1.5), rng.uniform(0.15, 0.5))


def fireworks(rng: Rng) -> Wave:
    whistle = glide(np.linspace(800, rng.uniform(2500, 4000), int(0.8 * RATE))) * np.linspace(0.1, 0.5, int(0.8 * RATE))
    bang = explosion(rng)[: 2 * RATE]
    crack = hits(rng, 1.5, (0.005, 0.06), lambda: decay(rng.standard_normal(300), 0.004))
    return np.concatenate([whistle, bang, crack * 0.5])


def vacuum(rng: Rng) -> Wave:
    t = time_line(rng.uniform(2, 4))
    hum = glide(np.full(len(t), rng.uniform(180, 420)), 12, 0.8)
    return hum * 0.4 + band(rng.standard_normal(len(t)), 300, 6000)


def saw(rng: Rng) -> Wave:
    t = time_line(rng.uniform(2, 4))
    stroke = np.abs(np.sin(2 * np.pi * rng.uniform(1, 2.2) * t)) ** 0.7
    return band(rng.standard_normal(len(t)), 1200, 6000) * stroke * (1 + np.sin(2 * np.pi * 90 * t))


def glass(rng: Rng) -> Wave:
    shard = lambda: strike(rng, rng.uniform(2500, 5500), (1, 1.3, 1.7), 0.03) * rng.uniform(0.2, 1)  # noqa: E731
    out = hits(rng, 1.2, (0.005, 0.09), shard)
    return decay(out, 0.3) + np.pad(decay(rng.standard_normal(2000), 0.01), (0, len(out) - 2000))


def snoring(rng: Rng) -> Wave:
    t = time_line(rng.uniform(3, 5))
    breath = np.maximum(0, np.sin(2 * np.pi * t / rng.uniform(2, 3)))
    return band(glide(rng.uniform(35, 60) * (1 + 0.1 * coloured_noise(rng, len(t), 2.0)), 30, 0.4), 80, 1500) * breath


def beeping(rng: Rng) -> Wave:
    tones = [
        glide(np.full(int(rng.uniform(0.05, 0.2) * RATE), rng.uniform(300, 2500)), 5)
        for _ in range(rng.integers(4, 12))
    ]
    return np.concatenate(tones)


def heartbeat(rng: Rng) -> Wave:
    beat, thump = rng.uniform(0.7, 1.1), lambda: strike(rng, rng.uniform(45, 70), (1, 1.5, 2), 0.05)
    pair = lambda: np.concatenate([thump()[: RATE // 4], 0.7 * thump()[: RATE // 4]])  # noqa: E731
    return hits(rng, rng.uniform(2, 4), (beat, beat * 1.05), pair)


def static(rng: Rng) -> Wave:
    noise = coloured_noise(rng, int(rng.uniform(1, 4) * RATE), rng.choice([0.0, 0.5, 1.0]))
    return np.asarray(lfilter([1], [1, -rng.uniform(0, 0.6)], noise))


SYNTHESIS: dict[str, Callable[[Rng], Wave]] = {
    "rain|rain falling": rain, "wind|wind blowing": wind, "ocean|sea waves": sea, "river|flowing water, stream": stream,
    "droplet|water dripping": drip, "fire|crackling fire": fire, "thunder|lightning, storm": thunder,
    "clock|clock ticking": clock, "church|church bell ringing": bell, "bicycle bell|bell": bicycle_bell,
    "doorbell|door bell": doorbell, "alarm clock|alarm beeping": alarm, "telephone|phone ringing": phone,
    "siren|police car, ambulance, fire engine": siren, "car horn|honking": horn, "engine|car engine": engine,
    "motorcycle|motorbike engine": motorcycle, "airplane|plane flying": airplane,
    "helicopter|helicopter rotor": helicopter,
    "train|railway": train, "clapping hands|applause": clapping, "footsteps|walking": footsteps,
    "door|knocking on the door": knocking, "keyboard|typing on a keyboard": typing, "explosion|bomb": explosion,
    "fireworks|firecracker": fireworks, "vacuum cleaner|household machine": vacuum, "saw|sawing wood": saw,
    "broken glass|glass breaking": glass, "snoring|sleeping": snoring, "dog|dog barking": barking,
    "cat|cat meowing": meowing, "cow|cow mooing": mooing, "bird|birds singing": chirping,
    "cricket|insects at night": crickets,
    "honeybee|bee buzzing": buzzing, "duck|duck quacking": quacking, "owl|owl hooting": hooting,
    "wolf|wolf howling": howling,
    "frog|frog croaking": croaking, "robot|computer beeping": beeping, "heart|heartbeat": heartbeat,
    "noise|static noise": static,
}  # fmt: skip
