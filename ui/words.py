"""How numbers, sizes and kinds are written for people, and the one place where user text becomes HTML."""

from __future__ import annotations

import html
import time

from index.types import Kind, shown

SINGULAR = {Kind.DOCUMENT: "document", Kind.IMAGE: "picture", Kind.AUDIO: "sound"}
PLURAL = {Kind.DOCUMENT: "documents", Kind.IMAGE: "pictures", Kind.AUDIO: "sounds"}


def safe(text: object) -> str:
    """Text that cannot act as HTML, also inside attributes; bytes of a file name that are no text become U+FFFD."""
    return html.escape(shown(str(text)), quote=True)


def count(number: int, one: str, many: str = "") -> str:
    """`1 item`, `2 items`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def milliseconds(value: float) -> str:
    """`0.4`, `41`, `1,204`: tenths only where they matter."""
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def size(number: float) -> str:
    """Bytes as `4 KB`, `1.2 MB`."""
    for unit in ("B", "KB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit in ("B", "KB") or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.2f} GB"


def clock(seconds: float) -> str:
    """`0:07`, `1:02:33`."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def day(stamp: float) -> str:
    """UTC seconds as a local date and time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(stamp))


def note(text: str, tone: str = "info", button: str = "") -> str:
    """A line that tells something; screen readers say errors at once. `text` is escaped, `button` is HTML."""
    if not text:
        return ""
    role = "alert" if tone == "error" else "status"
    return f'<div class="note {tone}" role="{role}"><span>{safe(text)}</span>{button}</div>'


def button(event: str, label: str, style: str = "", about: str = "", **data: object) -> str:
    """A button of our HTML; page events carry its data. `about` is the full label where the written one is short."""
    aria = f' aria-label="{safe(about)}"' if about else ""
    attributes = aria + "".join(f' data-{name}="{safe(value)}"' for name, value in data.items())
    return f'<button type="button" class="{style or "plain"}" data-event="{event}"{attributes}>{safe(label)}</button>'


# Script of every HTML part: a click on a button with data-event triggers that event with the data of the button.
ON_CLICK = """
element.addEventListener('click', (event) => {
  const button = event.target.closest('[data-event]');
  if (button && !button.disabled) trigger(button.dataset.event, {...button.dataset});
});
"""
