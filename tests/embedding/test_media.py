"""Decoders against values: what a picture, a sound or a text becomes, and what is refused with which words."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image

from embedding.errors import MediaError
from embedding.media import Limits, decode_audio, decode_image, decode_text, sniff
from embedding.types import Modality


def encoded(image: Image.Image, kind: str = "PNG", **more: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **more)
    return stream.getvalue()


def sound(samples: np.ndarray, rate: int, kind: str = "WAV", subtype: str | None = None) -> bytes:
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, format=kind, subtype=subtype)
    return stream.getvalue()


def tone(rate: int, seconds: float = 1.0, hertz: float = 440.0) -> np.ndarray:
    return 0.5 * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)


def loudest_hertz(samples: np.ndarray) -> float:
    spectrum = np.abs(np.fft.rfft(samples))
    return float(np.argmax(spectrum) * 16_000 / len(samples))


def test_exif_turns_the_picture() -> None:
    image = Image.new("RGB", (40, 20), "red")
    image.paste("blue", (0, 0, 20, 20))
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees clockwise
    decoded = decode_image(encoded(image, "JPEG", exif=exif, quality=95))
    assert decoded.size == (20, 40)
    assert decoded.getpixel((10, 5))[2] > 200 and decoded.getpixel((10, 35))[0] > 200


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparency_becomes_white(mode: str) -> None:
    clear = Image.new("RGBA", (8, 8), (0, 0, 0, 0)).convert(mode)
    assert decode_image(encoded(clear)).getpixel((4, 4)) == (255, 255, 255)


def test_transparent_palette_becomes_white() -> None:
    palette = Image.new("P", (8, 8), 1)
    palette.putpalette([255, 0, 0, 0, 0, 255])
    palette.putpixel((0, 0), 0)
    decoded = decode_image(encoded(palette, transparency=1))
    assert decoded.getpixel((4, 4)) == (255, 255, 255) and decoded.getpixel((0, 0)) == (255, 0, 0)


def test_sixteen_bits_keep_their_middle() -> None:
    grey = Image.fromarray(np.full((4, 4), 32_768, dtype=np.uint16))
    assert decode_image(encoded(grey)).getpixel((0, 0)) == (128, 128, 128)


def test_cmyk_of_adobe_and_of_others() -> None:
    ink = Image.new("CMYK", (16, 16), (0, 255, 255, 0))
    adobe = encoded(ink, "JPEG", quality=95)
    assert decode_image(adobe).getpixel((8, 8)) == pytest.approx((255, 0, 0), abs=6)
    start = adobe.index(b"\xff\xee")
    length = int.from_bytes(adobe[start + 2 : start + 4], "big")
    plain = adobe[:start] + adobe[start + 2 + length :]  # the same samples, uninverted by definition
    assert decode_image(plain).getpixel((8, 8)) == pytest.approx((0, 0, 0), abs=6)


def test_first_frame_of_an_animation() -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    stream = io.BytesIO()
    frames[0].save(stream, "GIF", save_all=True, append_images=frames[1:], duration=50)
    assert decode_image(stream.getvalue()).getpixel((4, 4)) == (255, 0, 0)


def test_size_is_read_before_decoding() -> None:
    with pytest.raises(MediaError, match=r"300 x 300 pixels, more than the limit"):
        decode_image(encoded(Image.new("L", (300, 300))), Limits(max_pixels=80_000))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"hello", "no known picture format"),
        (encoded(Image.effect_noise((64, 64), 90), "PNG")[:600], "damaged or truncated"),
        (encoded(Image.effect_noise((64, 64), 90), "JPEG")[:700], "damaged or truncated"),
    ],
)
def test_bad_pictures_are_refused_with_the_reason(content: bytes, words: str) -> None:
    with pytest.raises(MediaError, match=words):
        decode_image(content)


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 44_100, 48_000, 96_000])
@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT"])
def test_sound_of_any_rate_and_depth(rate: int, subtype: str) -> None:
    stereo = np.stack([tone(rate), tone(rate)], axis=1)
    audio = decode_audio(sound(stereo, rate, subtype=subtype))
    assert audio.rate == 16_000 and audio.samples.dtype == np.float32
    assert audio.seconds == pytest.approx(1.0, abs=2e-3)
    assert loudest_hertz(audio.samples) == pytest.approx(440, abs=2)
    assert np.abs(audio.samples[2_000:-2_000]).max() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(("kind", "subtype"), [("FLAC", None), ("OGG", "VORBIS"), ("OGG", "OPUS"), ("MP3", None)])
def test_sound_of_compressed_kinds(kind: str, subtype: str | None) -> None:
    audio = decode_audio(sound(tone(48_000, 2.0), 48_000, kind, subtype))
    assert audio.seconds == pytest.approx(2.0, abs=0.1)
    assert loudest_hertz(audio.samples) == pytest.approx(440, abs=3)


def test_not_a_number_becomes_silence() -> None:
    samples = tone(16_000)
    samples[100:200] = np.nan
    samples[300] = np.inf
    audio = decode_audio(sound(samples, 16_000, subtype="FLOAT"))
    assert np.isfinite(audio.samples).all() and not audio.silent
    assert np.abs(audio.samples[100:200]).max() == 0.0


def test_silence_is_known() -> None:
    assert decode_audio(sound(np.zeros(16_000), 16_000)).silent


def test_sounds_without_samples_or_too_long_are_refused() -> None:
    with pytest.raises(MediaError, match="without samples"):
        decode_audio(sound(np.zeros(0), 16_000))
    with pytest.raises(MediaError, match="more than the limit"):
        decode_audio(sound(np.zeros(16_000 * 3), 16_000), Limits(max_seconds=2.0))
    with pytest.raises(MediaError, match="not a sound that can be read"):
        decode_audio(b"RIFF....WAVEjunk")


def test_loud_floats_are_scaled_down() -> None:
    audio = decode_audio(sound(tone(16_000) * 10, 16_000, subtype="FLOAT"))
    assert np.abs(audio.samples).max() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "data",
    [
        "Grüße, 犬".encode(),
        "\ufeffGrüße, 犬".encode(),
        "\ufeffGrüße, 犬".encode("utf-16-le"),
        "\ufeffGrüße, 犬".encode("utf-16-be"),
        "\ufeffGrüße, 犬".encode("utf-32-le"),
    ],
)
def test_text_of_known_encodings(data: bytes) -> None:
    assert decode_text(data) == "Grüße, 犬"


def test_text_of_windows() -> None:
    assert decode_text("Caf\u00e9 \u2013 na\u00efve\r\nnext".encode("cp1252")) == "Café – naïve\nnext"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"abc\x00def", "NUL"),
        (b" \n\t", "only blanks"),
        (b"\xff\xfe\x41", "breaks off"),
        (b"ab\x81\xff\xfe\x8d", "not text"),
    ],
)
def test_bad_texts_are_refused_with_the_reason(data: bytes, words: str) -> None:
    with pytest.raises(MediaError, match=words):
        decode_text(data)


def test_large_text_is_refused() -> None:
    with pytest.raises(MediaError, match="more than the limit"):
        decode_text(b"a" * 2_000, Limits(max_text_bytes=1_000))


def test_content_wins_over_suffix(tmp_path: Path) -> None:
    for name, content, modality in [
        ("picture.txt", encoded(Image.new("RGB", (2, 2))), Modality.IMAGE),
        ("sound.jpg", sound(tone(8_000), 8_000), Modality.AUDIO),
        ("notes.md", b"# Dogs", Modality.TEXT),
        ("utf16.txt", "\ufeffdog".encode("utf-16-le"), Modality.TEXT),
        ("program.exe", b"MZ\x90", None),
        ("noise", b"\xff\xfb\x90\x00", Modality.AUDIO),
    ]:
        (tmp_path / name).write_bytes(content)
        assert sniff(tmp_path / name) is modality, name


def test_folders_and_missing_files_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.jpg"):
        with pytest.raises(MediaError, match="not a file"):
            decode_image(path)
