"""Vectors and what they stand for: `Library(folder, embedder).search(Query(media=Media(text="a dog")))`."""

from index.library import Library
from index.types import (
    AddReport,
    Encoder,
    Hit,
    Hits,
    Item,
    Kind,
    Progress,
    Query,
    Segment,
    Skipped,
    shown,
)

__all__ = [
    "AddReport",
    "Encoder",
    "Hit",
    "Hits",
    "Item",
    "Kind",
    "Library",
    "Progress",
    "Query",
    "Segment",
    "Skipped",
    "shown",
]
