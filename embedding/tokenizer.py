"""Text to token ids with the tokenizer of a package; what a person types never becomes a control token."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from embedding import runtime
from embedding.errors import PackageError

GRAPH = "openvino_tokenizer.xml"
FILE = "tokenizer.json"


def load_tokenizer(folder: Path, control_ids: frozenset[int]) -> Callable[[str], list[int]]:
    """A function from bare text to ids without begin and end, by the converted tokenizer where there is one."""
    if (folder / GRAPH).is_file():
        exact = _file_encoder(folder / FILE) if (folder / FILE).is_file() else None
        return _graph_encoder(folder / GRAPH, control_ids, exact)
    return _file_encoder(folder / FILE)


def _file_encoder(path: Path) -> Callable[[str], list[int]]:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise PackageError(f"{path.name} of the package {path.parent.name} is missing or damaged: {error}.") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # "<|image|>" in a text is text

    def encode(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    return encode


def _graph_encoder(
    path: Path, control_ids: frozenset[int], exact: Callable[[str], list[int]] | None
) -> Callable[[str], list[int]]:
    session = runtime.TokenizerSession(path)
    # Begin and end that the graph adds by itself, as it adds them around a text without any control token.
    frame = session.encode("a")
    lead = next((n for n, token in enumerate(frame) if token not in control_ids), 0)
    tail = next((n for n, token in enumerate(reversed(frame)) if token not in control_ids), 0)

    def bare(text: str) -> list[int]:
        ids = session.encode(text)
        return ids[lead : len(ids) - tail]

    def encode(text: str) -> list[int]:
        ids = bare(text) if text else []
        if control_ids.isdisjoint(ids):
            return ids
        # A control token was spelled out. The graph cannot be told to read it as text; the file can.
        if exact is not None:
            return exact(text)
        # Without the file: cut inside every "<...": no piece then holds a whole one.
        return [token for piece in re.split("(?<=<)", text) if piece for token in bare(piece)]

    return encode
