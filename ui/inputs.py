"""What scripts send, checked: each function gives the value or says in one sentence what it should be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr
from pydantic import ValidationError

from index.types import Kind

LARGEST = 2**63 - 1  # of a number in the database


def refuse(text: str) -> gr.Error:
    """An error that reaches the client in these words and is not logged: the fault is not the server's."""
    return gr.Error(text, print_exception=False)


def whole(value: object, name: str, least: int, most: int = LARGEST) -> int:
    """A whole number; 3.0 is one too, because JSON of some languages knows no other."""
    integral = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not integral or not least <= value <= most:  # type: ignore[operator]
        limits = f"from {least} to {most}" if most < LARGEST else f"of at least {least}"
        raise refuse(f"{name} must be a whole number {limits}, not {_brief(value)}.")
    return int(value)  # type: ignore[call-overload, no-any-return]


def ids(value: object) -> list[int]:
    """Ids of items."""
    if not isinstance(value, list):
        raise refuse(f"ids must be a list of ids of items, not {_brief(value)}.")
    return [whole(one, "Each id", 0) for one in value]


def words(value: object, name: str) -> str:
    """Text; nothing is the empty text."""
    if value is not None and not isinstance(value, str):
        raise refuse(f"{name} must be text, not {_brief(value)}.")
    text = value or ""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise refuse(f"{name} holds half a character (a lone surrogate).") from None
    return text


def kind(value: object) -> Kind | None:
    """A kind of items; nothing is None."""
    if value in (None, ""):
        return None
    if not isinstance(value, str) or value not in list(Kind):
        raise refuse(f"There is no kind {_brief(value)}; there are {_listed(list(Kind))}.")
    return Kind(value)


def kinds(value: object) -> frozenset[Kind]:
    """Kinds of items; none are all."""
    if value is None or value == []:
        return frozenset(Kind)
    if not isinstance(value, list):
        raise refuse(f"kinds must be a list of {_listed(list(Kind))}, not {_brief(value)}.")
    return frozenset(found for found in map(kind, value) if found) or frozenset(Kind)


def choice(value: object, name: str, known: Sequence[str]) -> str:
    """One of the names that exist."""
    if not isinstance(value, str) or value not in known:
        raise refuse(f"There is no {name} {_brief(value)} here; there is {_listed(known)}.")
    return value


def as_sent(payload: Any) -> Any:
    """A `preprocess` that leaves the value to the checks above."""
    return payload


def speak_plainly(page: gr.Blocks) -> None:
    """Let what Gradio finds wrong with an input reach the client as one sentence, without a traceback in the log."""
    original = page.preprocess_data

    async def preprocess(*args: Any, **options: Any) -> Any:
        try:
            return await original(*args, **options)
        except gr.Error as error:
            raise refuse(error.message) from error
        except ValidationError as error:
            raise refuse(
                'An input is not a file; a file is {"path": ..., "meta": {"_type": "gradio.FileData"}}.'
            ) from error
        except ValueError as error:
            raise refuse(" ".join(str(error).split())) from error

    page.preprocess_data = preprocess  # type: ignore[method-assign]


def _brief(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(str, names)) or "none"
