"""Events of the Search tab: named functions over a studio that take and return plain values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from embedding.errors import TriptychError
from index.types import Kind
from ui import cards
from ui.question import Answer, Question
from ui.studio import MAX_RESULTS, Studio
from ui.tray import running
from ui.words import PLURAL, button, count, note, safe

EACH, OVERALL = "each", "all"  # orders: the best of each kind, or the highest cosines whatever the kind
EXAMPLES = ("dog", "rain", "something to eat", "a musical instrument", "red", "the sea")


@dataclass(frozen=True)
class Shown:
    """What a person sees: the answer, what was deleted from it, and the last deletion, which can be undone."""

    answer: Answer | None = None
    hidden: frozenset[int] = frozenset()
    deleted: tuple[int, ...] = field(default=())


@dataclass(frozen=True)
class Wanted:
    """Which answers count, as the controls give it: kinds by name, how many, and `each` or `all` for the order."""

    kinds: Sequence[str] = ()
    k: float | None = 12
    order: str = EACH

    def of(self, question: Question) -> Question:
        """The question with these answers."""
        return replace(question, kinds=kinds_of(self.kinds), k=_number(self.k), balanced=self.order == EACH)


@dataclass(frozen=True)
class Screen:
    """The parts of the Search tab that a handler draws anew."""

    notice: str
    stages: str
    results: str
    shown: Shown


class SearchHandlers:
    """Events of the Search tab."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio

    def search(self, words: str, image: str | None, audio: str | None, wanted: Wanted) -> Screen:
        """Answer words, a picture, a sound, or words with one of them; an empty question shows the welcome."""
        question = Question(words or "", Path(image) if image else None, Path(audio) if audio else None)
        return self.welcome() if question.empty else self.ask(wanted.of(question))

    def like(self, item_id: int, wanted: Wanted) -> Screen:
        """What is nearest to an item of the library."""
        return self.ask(wanted.of(Question(like=item_id)))

    def delete(self, shown: Shown, item_id: int) -> Screen:
        """Take an item out of the library and out of the answer on the screen."""
        removed = tuple(self.studio.remove([item_id]))
        kept = Shown(shown.answer, shown.hidden | set(removed), removed)
        return self._screen(kept, deleted_note(len(removed)))

    def undo(self, shown: Shown) -> Screen:
        """Bring the last deletion back."""
        self.studio.restore(shown.deleted)
        told = note(f"Brought back {count(len(shown.deleted), 'item')}.") if shown.deleted else ""
        return self._screen(Shown(shown.answer, shown.hidden - set(shown.deleted)), told)

    def welcome(self) -> Screen:
        """The screen before a question: no results, so the greeting shows."""
        return Screen("", "", "", Shown())

    def ask(self, question: Question) -> Screen:
        """Run a question; what is wrong with it is said where the answer would be."""
        try:
            answer = self.studio.search(question)
        except TriptychError as error:
            return Screen("", "", note(str(error), "error"), Shown())
        return self._screen(Shown(answer), "")

    def greeting(self) -> str:
        """What to do first: wait for the first items, add something, or ask something."""
        filling = "".join(running(job) for job in self.studio.jobs.active("ingest"))
        return filling + self._advice(bool(filling))

    def _advice(self, filling: bool) -> str:
        if not sum(self.studio.library.count().values()):
            if filling:
                return '<div class="empty"><p>Search as soon as the first items are in.</p></div>'
            actions = button("copy", "Load the sample library", "solid") + button("expand", "Add files", "plain")
            return f'<div class="empty"><p>The library holds nothing yet.</p><div class="row">{actions}</div></div>'
        chips = "".join(button("example_select", word, "example", words=word) for word in EXAMPLES)
        text = "Ask in words, with a picture or with a sound; documents, pictures and sounds answer together."
        return f'<div class="empty"><p>{text}</p><div class="row"><span>Try</span>{chips}</div></div>'

    def _screen(self, shown: Shown, notice: str) -> Screen:
        answer = shown.answer
        if answer is None:
            return Screen(notice, "", "", shown)
        left = [hit for hit in answer.hits.hits if hit.item.id not in shown.hidden]
        head = f'<p class="found" role="status">{safe(self._found(answer, shown.hidden))}</p>'
        body = cards.results(answer.hits, shown.hidden) if left else self._nothing(answer.question)
        latency = self.studio.latency
        cost = cards.stages(answer.run, latency.figures(answer.setup), latency.cold(answer.setup))
        return Screen(notice, cost, head + body, shown)

    def _found(self, answer: Answer, hidden: Collection[int]) -> str:
        text = cards.summary(answer.hits, hidden)
        if answer.question.like is not None:
            text += f", nearest to {self.studio.library.item(answer.question.like).name}"
        if answer.hits.pending:
            text += f" · {count(answer.hits.pending, 'item')} not embedded for this model yet"
        return text

    def _nothing(self, question: Question) -> str:
        if question.kinds != frozenset(Kind):
            words = " or ".join(PLURAL[kind] for kind in Kind if kind in question.kinds)
            return note(f"No {words} in the library answer this. Choose more kinds above, or add files.")
        return note("Nothing in the library answers this. Add files on the Library tab.")


def kinds_of(names: Iterable[str]) -> frozenset[Kind]:
    """Kinds by their names in the page; none chosen means all."""
    return frozenset(Kind(name) for name in names or ()) or frozenset(Kind)


def deleted_note(number: int) -> str:
    """What was deleted, with the way back."""
    if not number:
        return note("It was deleted before.")
    return note(f"Deleted {count(number, 'item')}.", "info", button("undo", "Undo", "solid"))


def _number(k: float | None) -> int:
    return max(1, min(int(k or 12), MAX_RESULTS))
