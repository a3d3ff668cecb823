"""Text files: byte order mark, UTF-8, UTF-16, then cp1252; what holds NUL is no text."""

from __future__ import annotations

import codecs

from embedding.errors import MediaError
from embedding.media.limits import Limits, Source, open_source

# The mark of UTF-32 LE begins with the one of UTF-16 LE, so the longer ones come first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode_text(source: Source, limits: Limits | None = None) -> str:
    """The text with line ends as newlines. Raises MediaError: binary, undecodable, blank, or larger than the limit."""
    limits = limits or Limits()
    with open_source(source, limits) as stream:
        try:
            data = stream.read(limits.max_text_bytes + 1)
        except OSError as error:
            raise MediaError(f"cannot be read: {error.strerror or error}") from error
    if len(data) > limits.max_text_bytes:
        raise MediaError(f"is a text of more than the limit of {limits.max_text_bytes / 1e6:,.0f} MB")
    text = _decode(data).replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise MediaError("holds no text, only blanks")
    return text


def _decode(data: bytes) -> str:
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if encoding is not None:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            raise MediaError(f"begins as {encoding.removesuffix('-sig')} but breaks off or is damaged") from error
    if b"\x00" in data:
        raise MediaError("is binary, not text (it holds NUL bytes)")
    for encoding in ("utf-8", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise MediaError("is not text in UTF-8, UTF-16 or cp1252")
