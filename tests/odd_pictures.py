"""Damaged and odd pictures, each with what must become of it."""

import io
import struct
import zlib

import numpy as np
from PIL import Image, ImageChops

from tests.odd_files import Odd

RED, GREEN, BLUE, WHITE, BLACK, GREY = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255,) * 3, (0,) * 3, (128,) * 3


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def flag(width: int = 60, height: int = 40) -> Image.Image:
    """Red on the left, blue on the right."""
    image = Image.new("RGB", (width, height), RED)
    image.paste(BLUE, (width // 2, 0, width, height))
    return image


def photo() -> Image.Image:
    """Noise, so that its file is long enough to be cut in the middle."""
    return Image.fromarray(np.random.default_rng(1).integers(0, 255, (120, 160, 3), dtype=np.uint8))


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width: int, height: int, depth: int, colour: int, pixels: bytes) -> bytes:
    """A PNG by hand: `pixels` is raw, each row after a filter byte, and may be less than the header claims."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def frames(kind: str) -> bytes:
    """An animation: a red, a green and a blue frame."""
    first, *rest = (Image.new("RGB", (40, 30), colour) for colour in (RED, GREEN, BLUE))
    return encoded(first, kind, save_all=True, append_images=rest, duration=100)


def turned() -> bytes:
    """Stored 60 wide and 40 high; EXIF says that the camera was turned, so it is 40 wide and 60 high, red on top."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(flag(), "JPEG", exif=exif, quality=95)


def damaged_exif() -> bytes:
    """Good pixels, and EXIF that points outside itself."""
    exif = b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x09\x01\x12\x00\x03\xff\xff\xff\xff\xff"
    data = encoded(flag(), "JPEG", quality=95)
    return data[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + data[2:]


def cmyk(adobe: bool) -> bytes:
    """Red in CMYK. With Adobe's marker values are stored inverted; without it they are stored as they are."""
    image = Image.new("CMYK", (32, 32), (0, 255, 255, 0))
    if adobe:
        return encoded(image, "JPEG", quality=95)
    data = encoded(ImageChops.invert(image), "JPEG", quality=95)
    marker = data.index(b"\xff\xee")
    return data[:marker] + data[marker + 2 + struct.unpack(">H", data[marker + 2 : marker + 4])[0] :]


def transparent_palette() -> bytes:
    image = Image.new("P", (20, 20), 0)
    image.putpalette([*BLACK, *RED])
    image.paste(1, (10, 10, 20, 20))
    return encoded(image, "PNG", transparency=0)


def lying_jpeg() -> bytes:
    """A small JPEG whose header claims 65,000 pixels each way."""
    data = bytearray(encoded(flag(), "JPEG"))
    start = data.index(b"\xff\xc0")
    data[start + 5 : start + 9] = struct.pack(">HH", 65_000, 65_000)
    return bytes(data)


def grey16() -> bytes:
    levels = np.zeros((30, 30), np.uint16)
    levels[:, 15:] = 65_535
    levels[0, 0] = 32_896
    return encoded(Image.fromarray(levels), "PNG")


def broken_checksum() -> bytes:
    data = bytearray(encoded(photo(), "PNG"))
    data[data.index(b"IDAT") + 40] ^= 0xFF
    return bytes(data)


PICTURES = (
    Odd("truncated.jpg", lambda: encoded(photo(), "JPEG")[:4000], reason="truncated"),
    Odd("truncated.png", lambda: encoded(photo(), "PNG")[:20_000], reason="truncated"),
    Odd("truncated.webp", lambda: encoded(photo(), "WEBP")[:2000], reason="damaged"),
    Odd("header-only.jpg", lambda: encoded(photo(), "JPEG")[:30], reason="picture"),
    Odd("broken-checksum.png", broken_checksum, reason="damaged"),
    Odd("random-bytes.png", lambda: np.random.default_rng(2).bytes(5000), reason="picture"),
    Odd("words.jpg", lambda: b"This is not a picture at all.", reason="picture"),
    Odd("bomb.png", lambda: png(100_000, 100_000, 8, 2, bytes(1000)), reason="pixels"),
    Odd("bomb.jpg", lying_jpeg, reason="pixels"),
    Odd("65-megapixels.png", lambda: png(8_125, 8_000, 1, 0, bytes(8_000 * 1_017)), reason="pixels"),
    Odd("half-the-rows.png", lambda: png(50, 50, 8, 0, bytes(51 * 25)), "image", size=(50, 50)),  # as browsers do
    Odd("archive.jpg", lambda: b"PK\x03\x04" + bytes(200), reason="picture"),
    Odd("iphone.heic", lambda: b"\x00\x00\x00\x18ftypheic" + bytes(99), reason="kind"),
    Odd("damaged-exif.jpg", damaged_exif, "image", size=(60, 40), corner=RED, far_corner=BLUE),
    Odd("two-pages.tif", lambda: frames("TIFF"), "image", size=(40, 30), corner=RED),
    Odd("integers.tif", lambda: encoded(Image.new("I", (9, 9), 65_535), "TIFF"), "image", corner=WHITE),
    Odd("modern.avif", lambda: encoded(flag(64, 64), "AVIF"), "image", size=(64, 64)),
    Odd("cmyk-adobe.jpg", lambda: cmyk(adobe=True), "image", size=(32, 32), corner=RED),
    Odd("cmyk-plain.jpg", lambda: cmyk(adobe=False), "image", size=(32, 32), corner=RED),
    Odd("grey-16-bit.png", grey16, "image", size=(30, 30), corner=GREY, far_corner=WHITE),
    Odd("rgb-16-bit.png", lambda: png(1, 1, 16, 2, b"\x00\xff\xff\x00\x00\x00\x00"), "image", size=(1, 1), corner=RED),
    Odd("turned.jpg", turned, "image", size=(40, 60), corner=RED, far_corner=BLUE),
    Odd("animated.gif", lambda: frames("GIF"), "image", size=(40, 30), corner=RED),
    Odd("animated.webp", lambda: frames("WEBP"), "image", size=(40, 30), corner=RED),
    Odd("animated.png", lambda: frames("PNG"), "image", size=(40, 30), corner=RED),
    Odd("one-pixel.png", lambda: encoded(Image.new("RGB", (1, 1), GREEN), "PNG"), "image", size=(1, 1), corner=GREEN),
    Odd("very-wide.png", lambda: encoded(flag(30_000, 10), "PNG"), "image", size=(30_000, 10), far_corner=BLUE),
    Odd("very-high.png", lambda: encoded(flag(10, 30_000), "PNG"), "image", size=(10, 30_000), far_corner=BLUE),
    Odd("palette.png", transparent_palette, "image", size=(20, 20), corner=WHITE, far_corner=RED),
    Odd("see-through.png", lambda: encoded(Image.new("RGBA", (9, 9), (9, 9, 9, 0)), "PNG"), "image", corner=WHITE),
    Odd("grey-alpha.png", lambda: encoded(Image.new("LA", (9, 9), (0, 0)), "PNG"), "image", corner=WHITE),
    Odd("one-bit.png", lambda: encoded(Image.new("1", (9, 9), 1), "PNG"), "image", corner=WHITE),
    Odd("float.tif", lambda: encoded(Image.new("F", (9, 9), 0.5), "TIFF"), "image", corner=GREY),
    Odd("SHOUTING.JPG", lambda: encoded(flag(), "JPEG", quality=95), "image", size=(60, 40), corner=RED),
    Odd("tail.jpg", lambda: encoded(flag(), "JPEG", quality=95) + b"more" * 99, "image", size=(60, 40), corner=RED),
    Odd("webp-called.jpg", lambda: encoded(flag(), "WEBP", lossless=True), "image", size=(60, 40), corner=RED),
    Odd("picture-called.txt", lambda: encoded(flag(), "PNG"), "image", size=(60, 40), corner=RED),
    Odd("picture-called.wav", lambda: encoded(flag(), "PNG"), "image", size=(60, 40), corner=RED),
    Odd("drawing.svg", lambda: b'<svg xmlns="http://www.w3.org/2000/svg"><circle r="9"/></svg>', reason="kind"),
)
