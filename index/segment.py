"""Splitting: texts into passages of whole sentences, sounds into even windows. Pure functions; nothing is cut away."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

PASSAGE_TOKENS = 384
WINDOW_SECONDS = 30.0
_OVERLAP_SHARE = 8  # 48 tokens of 384
_LONG = (
    4  # characters a token from which on a text is split before its tokens are counted: small parts are joined again
)
_MOST_CHARACTERS = 16  # of one token, on average over a passage
_REACH = 2000  # characters in which a good place for a split is looked for
_SLIVER_SHARE = 4  # a last passage below a quarter shares the text of the one before it

Count: TypeAlias = Callable[[str], int]
Span: TypeAlias = tuple[int, int]

# Blank lines, the line before a Markdown heading, and white space after the end of a sentence.
_BOUNDARY = re.compile(r"\n\s*\n\s*|\n(?=#{1,6} )|(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])\s*")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Passage:
    """Part of a text with its first and last line, 1-based and inclusive."""

    text: str
    first: int
    last: int


def windows(samples: int, rate: int, longest: float = WINDOW_SECONDS) -> list[Span]:
    """Split a sound of `samples` at `rate` Hz into the fewest even windows of at most `longest` seconds.

    Spans are sample numbers, end exclusive; lengths differ by at most one sample, so there are no slivers.
    """
    most = max(1, int(longest * rate))
    parts = max(1, -(-samples // most))
    return [(part * samples // parts, (part + 1) * samples // parts) for part in range(parts)]


def passages(text: str, count: Count, limit: int, target: int = PASSAGE_TOKENS) -> list[Passage]:
    """Split a text into passages of about `target` tokens; each ends a sentence and begins with the end of the last.

    `count` gives tokens of a text; no passage is above `limit` tokens. All but outer white space is in some passage.
    """
    target = max(1, min(target, limit))
    count = _weighing(count)
    if text.strip() and len(text) <= _LONG * target and count(text) <= target:
        return [_passage(text, (0, len(text)), _line_starts(text))]
    overlap = target // _OVERLAP_SHARE
    units = list(_units(text, count, target - overlap))
    # The blank before a part belongs to its first token, so it is counted with it.
    before = [0, *(end for _, end in units)]
    sizes = [count(text[begin:end]) for begin, (_, end) in zip(before, units, strict=False)]
    lines = _line_starts(text)
    found = []
    cuts = _cuts(sizes, target, overlap)
    for first, after in zip(cuts, [*cuts[1:], len(units)], strict=True):
        start, end = units[first][0], units[after - 1][1]
        early = _tail(text, units[:first], count, overlap) if first else start
        # Tokens of parts need not add up to those of the whole, so the sum is checked and the overlap given up first.
        spans = [(early, end)] if count(text[early:end]) <= limit else list(_fit(text, (start, end), count, limit))
        found += [_passage(text, span, lines) for span in spans]
    return found


def _weighing(count: Count) -> Count:
    """Tokens, but at least one for so many characters: to some tokenizers a word of any length is one unknown token."""
    return lambda text: max(count(text), len(text) // _MOST_CHARACTERS)


def _sentences(text: str) -> Iterator[Span]:
    """Spans of sentences and headings without the white space around them."""
    start = 0
    for match in _BOUNDARY.finditer(text):
        yield from _trim(text, start, match.end())
        start = match.end()
    yield from _trim(text, start, len(text))


def _units(text: str, count: Count, room: int) -> Iterator[Span]:
    """Sentences, and of those that fill more than a passage small pieces, which pack well."""
    for span in _sentences(text):
        pieces = list(_fit(text, span, count, room))
        yield from pieces if len(pieces) == 1 else _fit(text, span, count, max(1, room // 8))


def _trim(text: str, start: int, end: int) -> Iterator[Span]:
    part = text[start:end]
    if part.strip():
        yield start + len(part) - len(part.lstrip()), start + len(part.rstrip())


def _fit(text: str, span: Span, count: Count, limit: int) -> Iterator[Span]:
    """Halve a span, at a line or a word where there is one, until every part is within the limit."""
    start, end = span
    if end - start <= 1 or (end - start <= _LONG * max(limit, 64) and count(text[start:end]) <= limit):
        yield span
        return
    middle = (start + end) // 2
    reach = max(1, min((end - start) // 4, _REACH))
    near = text[middle - reach : middle + reach]
    breaks = [match.start() for match in re.finditer("\n", near)] or [match.start() for match in _SPACE.finditer(near)]
    cut = middle - reach + min(breaks, key=lambda place: abs(place - reach)) if breaks else middle
    cut = min(max(cut, start + 1), end - 1)
    for half in ((start, cut), (cut, end)):
        for part in _trim(text, *half):
            yield from _fit(text, part, count, limit)


def _cuts(sizes: list[int], target: int, overlap: int) -> list[int]:
    """Numbers of the units with which passages begin: as full as the target allows, the last two evened out."""
    if not sizes:
        return []
    cuts, filled, room = [0], 0, target
    for number, size in enumerate(sizes):
        if filled and filled + size > room:
            cuts.append(number)
            filled, room = 0, target - overlap
        filled += size
    if len(cuts) > 1 and filled < target // _SLIVER_SHARE:
        begin = cuts[-2]
        half, both = 0, sum(sizes[begin:])
        for number in range(begin, len(sizes) - 1):
            half += sizes[number]
            if 2 * half >= both:
                cuts[-1] = number + 1
                break
    return cuts


def _tail(text: str, units: list[Span], count: Count, overlap: int) -> int:
    """Where the last `overlap` tokens begin: with a sentence, or with a word when the last sentence is longer."""
    end = units[-1][1]
    start, filled = end, 0
    for unit in reversed(units):
        filled += count(text[unit[0] : unit[1]])
        if filled > overlap:
            break
        start = unit[0]
    if start < end:
        return start
    words = [match.end() + units[-1][0] for match in _SPACE.finditer(text[units[-1][0] : end])]
    low, high = 0, len(words)
    while low < high:
        middle = (low + high) // 2
        if count(text[words[middle] : end]) <= overlap:
            high = middle
        else:
            low = middle + 1
    return words[low] if low < len(words) else end


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _passage(text: str, span: Span, lines: list[int]) -> Passage:
    start, end = next(_trim(text, *span))
    return Passage(text[start:end], bisect_right(lines, start), bisect_right(lines, end - 1))
