"""From scores of segments to ranked items: the best segment stands for its item, ties go to the older item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embedding.types import Vectors
from index.types import Ids

# Equal vectors may differ in the last bits of their scores, by where they lie in a store; rounding keeps ties ties.
DECIMALS = 6


@dataclass(frozen=True)
class Match:
    """An item with its best segment and that segment's score."""

    item_id: int
    segment_id: int
    score: float


def rounded(scores: Vectors) -> Vectors:
    """Cosines in -1..1 with as many decimals as are the same in every store."""
    return np.clip(np.round(scores, DECIMALS), -1.0, 1.0).astype(np.float32)


def balanced(
    best: Sequence[Match], by_kind: Sequence[Sequence[Match]], k: int, first: int | None = None
) -> list[Match]:
    """The k best with a fair share for every kind: the best k // kinds of each, then the best of all, by score.

    `best` are the k best of all kinds together, `by_kind` those of each; item `first` leads when it is there.
    """
    share = k // max(1, len(by_kind))
    kept = {match.item_id: match for matches in by_kind for match in matches[:share]}
    for match in best:
        if len(kept) == k:
            break
        kept.setdefault(match.item_id, match)
    return sorted(kept.values(), key=lambda match: (match.item_id != first, -match.score, match.item_id))


def best_by_item(segments: Ids, items: Ids, scores: Vectors, first: int | None = None) -> list[Match]:
    """One match an item, best first; equal scores by item id, then by segment id. Item `first` leads when it is there.

    The three arrays are parallel [n]; a segment may stand in them more than once.
    """
    scores = rounded(scores)
    order = np.lexsort((segments, items, -scores))
    _, leading = np.unique(items[order], return_index=True)
    picked = order[np.sort(leading)]
    matches = [Match(int(items[n]), int(segments[n]), round(float(scores[n]), DECIMALS)) for n in picked]
    return sorted(matches, key=lambda match: match.item_id != first) if first is not None else matches
