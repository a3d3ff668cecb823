"""Pictures: any format of Pillow to upright 8-bit RGB."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageChops, ImageOps, UnidentifiedImageError

from embedding.errors import MediaError
from embedding.media.limits import Limits, Source, open_source

# What Pillow raises on damaged files beside OSError: seen with truncated, fuzzed and lying headers.
_DAMAGE = (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError, OverflowError, MemoryError)


def decode_image(source: Source, limits: Limits | None = None) -> Image.Image:
    """The first frame as RGB, turned as EXIF says, transparency on white, more than 8 bits scaled down to 8.

    Raises MediaError: not a picture, truncated, or more pixels than the limit (checked before decoding).
    """
    limits = limits or Limits()
    with open_source(source, limits) as stream:
        try:
            with Image.open(stream) as image:
                _check_size(image.size, limits)
                image.load()
                # Pillow inverts every CMYK JPEG because Adobe does; one without Adobe's marker was not inverted.
                uninvert = image.format == "JPEG" and image.mode == "CMYK" and "adobe" not in image.info
                upright = _upright(image)
                return _to_rgb(ImageChops.invert(upright) if uninvert else upright)
        except UnidentifiedImageError as error:
            raise MediaError("is not a picture that can be read (its content fits no known picture format)") from error
        except Image.DecompressionBombError as error:
            raise MediaError(f"has more pixels than the limit of {limits.max_pixels / 1e6:.0f} megapixels") from error
        except _DAMAGE as error:
            raise MediaError(f"is a damaged or truncated picture ({str(error)[:120]})") from error


def _check_size(size: tuple[int, int], limits: Limits) -> None:
    width, height = size
    if width * height > limits.max_pixels:
        raise MediaError(
            f"has {width} x {height} pixels, more than the limit of {limits.max_pixels / 1e6:.0f} megapixels"
        )
    if width < 1 or height < 1:
        raise MediaError("is a picture without pixels")


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except _DAMAGE:  # damaged EXIF is no reason to refuse good pixels
        return image


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode == "RGB" and "transparency" not in image.info:
        return image.copy()
    if image.mode.startswith(("I", "F")):
        return _scale_to_8_bits(image).convert("RGB")
    if "transparency" in image.info or image.mode in {"RGBA", "LA", "PA", "RGBa", "La"}:
        rgba = image.convert("RGBA")
        white = Image.new("RGBA", rgba.size, "white")
        return Image.alpha_composite(white, rgba).convert("RGB")
    return image.convert("RGB")


def _scale_to_8_bits(image: Image.Image) -> Image.Image:
    """Grey of 16 or 32 bits or float: by the range of its type where that is known, else by its brightest pixel."""
    values = np.nan_to_num(np.asarray(image, dtype=np.float64))
    peak = float(values.max(initial=0.0))
    if image.mode.startswith("I;16") or (image.mode == "I" and 255 < peak <= 65_535):
        top = 65_535.0
    else:
        top = 1.0 if image.mode == "F" and peak <= 1.0 else max(peak, 255.0)
    return Image.fromarray((np.clip(values / top, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8))
