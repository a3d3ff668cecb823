"""The tokenizer of a package: `tokenizer.json`, and the same as an OpenVINO graph where both agree."""

from __future__ import annotations

from pathlib import Path

import openvino as ov
from openvino_tokenizers import convert_tokenizer
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from embedding.runtime import TokenizerSession
from embedding.tokenizer import FILE, GRAPH

TEXTS = (
    "a dog runs along the beach",
    "Wie spät ist es? Das Café schließt um 22:00 Uhr.",
    "two  spaces, a\ttab\n\nand a paragraph\r\n",
    "emoji 🦊👩‍👩‍👧 and 東京タワー, العربية, हिन्दी",
    " leading and trailing ",
    "it's 1,234.50 <b>&amp;</b> {x} // don't",
    "ﬁne e\u0301 ½ … — „quoted“",
    "word " * 300,
)


def write_tokenizer(tokenizer: Tokenizer, folder: Path) -> bool:
    """Write `tokenizer.json`, and the graph if it gives the same ids for all TEXTS; true when it does."""
    tokenizer.save(str(folder / FILE))
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    path = folder / GRAPH
    ov.save_model(convert_tokenizer(wrapped), path)
    session = TokenizerSession(path)
    if all(session.encode(text) == list(tokenizer.encode(text).ids) for text in TEXTS):
        return True
    for suffix in (".xml", ".bin"):
        path.with_suffix(suffix).unlink()
    return False
