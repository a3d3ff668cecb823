"""Features of the training pictures, computed once: a plain view and some altered ones of each."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import openvino as ov
import torch
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from tools.train_nano.pictures import Picture
from tools.train_nano.vision_model import FEATURES, Backbone

SIDE, BATCH, SHARD = 224, 16, 480
MOST_PIXELS = 4_000_000
Image.MAX_IMAGE_PIXELS = None  # sizes are checked here, before anything is decoded


def compile_backbone(work: Path, threads: int = 2) -> ov.CompiledModel:
    """The backbone as an OpenVINO graph over pictures [n, 3, h, w] of 0..1."""
    graph = ov.convert_model(Backbone(work), example_input=torch.zeros(1, 3, SIDE, SIDE), input=[-1, 3, -1, -1])
    return ov.Core().compile_model(graph, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"})


def plain_view(picture: Image.Image) -> Image.Image:
    """The picture on white, its aspect kept, centred in a square."""
    return _placed(picture.convert("RGBA"), (255, 255, 255), 1.0, (0.5, 0.5))


def altered_view(picture: Image.Image, draw: random.Random) -> Image.Image:
    """Another background, size, place, tilt, mirror, light, blur or lack of colour."""
    image = picture.convert("RGBA")
    if draw.random() < 0.5:
        image = ImageOps.mirror(image)
    if draw.random() < 0.5:
        image = image.rotate(draw.uniform(-18, 18), Image.Resampling.BICUBIC, expand=True)
    shade = (255, 255, 255) if draw.random() < 0.25 else tuple(draw.randrange(256) for _ in range(3))
    view = _placed(image, shade, draw.uniform(0.45, 1.05), (draw.random(), draw.random()), draw)
    view = ImageEnhance.Brightness(view).enhance(draw.uniform(0.65, 1.3))
    view = ImageEnhance.Color(view).enhance(0.0 if draw.random() < 0.08 else draw.uniform(0.5, 1.4))
    return view.filter(ImageFilter.GaussianBlur(draw.uniform(0.3, 1.6))) if draw.random() < 0.3 else view


def _placed(
    image: Image.Image,
    shade: tuple[int, ...],
    size: float,
    place: tuple[float, float],
    draw: random.Random | None = None,
) -> Image.Image:
    """The picture at a size (share of the square) and place on a shade, or on coarse noise around that shade."""
    square = Image.new("RGB", (SIDE, SIDE), shade)
    if draw is not None and draw.random() < 0.35:
        grain = np.random.default_rng(draw.randrange(2**32)).normal(0, 45, (draw.choice((4, 8, 16)),) * 2 + (3,))
        noise = np.clip(np.array(shade) + grain, 0, 255).astype(np.uint8)
        square = Image.fromarray(noise).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    scale = SIDE * size / max(image.size)
    image = image.resize(tuple(max(1, round(side * scale)) for side in image.size), Image.Resampling.BICUBIC)
    corner = tuple(round((SIDE - side) * share) for side, share in zip(image.size, place, strict=True))
    square.paste(image, corner, image)
    return square


def view_features(work: Path, pictures: Sequence[Picture], view: int, threads: int = 2) -> None:
    """Write shards of features [n, 1280] of one view (0 is the plain one); those that exist are kept."""
    folder = work / "features" / f"view{view}"
    folder.mkdir(parents=True, exist_ok=True)
    backbone = compile_backbone(work, threads)
    for start in range(0, len(pictures), SHARD):
        path = folder / f"{start:06d}.npy"
        if path.is_file():
            continue
        found = np.zeros((len(pictures[start : start + SHARD]), FEATURES), np.float32)
        for first in range(0, len(found), BATCH):
            batch = pictures[start + first : start + first + BATCH]
            pixels = {first + number: _pixels(item, view) for number, item in enumerate(batch)}
            rows = [number for number, value in pixels.items() if value is not None]
            found[rows] = backbone(np.stack([pixels[number] for number in rows]))[0]
        np.save(path, found.astype(np.float16))


def load_features(work: Path, view: int) -> NDArray[np.float32]:
    """All features of a view that are there, in the order of the pictures."""
    shards = sorted((work / "features" / f"view{view}").glob("*.npy"))
    if not shards:
        return np.zeros((0, FEATURES), np.float32)
    return np.concatenate([np.load(path) for path in shards]).astype(np.float32)


def _pixels(item: Picture, view: int) -> NDArray[np.float32] | None:
    """A view as [3, h, w] of 0..1; None for pictures too large to be worth the time: their row stays zero."""
    with Image.open(item.path) as picture:
        if picture.width * picture.height > MOST_PIXELS:
            return None
        draw = random.Random(f"{item.path.name} {item.origin} {view}")
        image = altered_view(picture, draw) if view else plain_view(picture)
    return np.asarray(image, np.float32).transpose(2, 0, 1) / 255
