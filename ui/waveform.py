"""A sound as a small drawing: its loudest sample in each of 80 slices."""

from __future__ import annotations

import itertools

import numpy as np

from embedding.types import Audio

SLICES = 80
HEIGHT = 40
COLOUR = "#2f8f74"  # reads on the wash of both themes: an image cannot see the theme of the page


def waveform(sound: Audio) -> str:
    """SVG of SLICES bars around the middle, scaled to the loudest; a silent sound is a line."""
    edges = np.linspace(0, len(sound.samples), SLICES + 1).astype(int)
    loud = np.abs(sound.samples)
    peaks = np.array([loud[start:end].max(initial=0.0) for start, end in itertools.pairwise(edges)])
    heights = np.maximum(peaks / max(float(peaks.max()), 1e-4), 0.02) * (HEIGHT / 2 - 1)
    bars = "".join(f"M{x * 3 + 1.5:g} {HEIGHT / 2 - h:.1f}v{2 * h:.1f}" for x, h in enumerate(heights))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SLICES * 3} {HEIGHT}" preserveAspectRatio="none">'
        f'<path d="{bars}" stroke="{COLOUR}" stroke-width="2" stroke-linecap="round" fill="none"/></svg>'
    )
