"""Media in, unit vectors out: `load_embedder("nano").embed(["a dog"], role="query")`."""

from embedding.embedder import Embedder, load_embedder
from embedding.packages import cards
from embedding.types import Audio, Embeddings, Media, Modality, Precision, Role, Space

__all__ = [
    "Audio",
    "Embedder",
    "Embeddings",
    "Media",
    "Modality",
    "Precision",
    "Role",
    "Space",
    "cards",
    "load_embedder",
]
