"""The pictures: emoji of seven styles and clip art to train on, an unseen style and photo stamps to evaluate on."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.train_nano.sources import source

STYLES = (
    "@iconify-json/noto",
    "@iconify-json/noto-v1",
    "@iconify-json/fxemoji",
    "@iconify-json/fluent-emoji",
    "@iconify-json/fluent-emoji-flat",
    "@iconify-json/emojione",
)
PAINTED = "@lobehub/fluent-emoji-3d"
UNSEEN = "@iconify-json/twemoji"
# Groups of emojibase whose emoji show things: animals, food, places, activities, objects.
THINGS = (3, 4, 5, 6, 7)
FLAGS = 9
SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
# Folders of the clip art whose titles say little of what is seen.
MEANINGLESS = frozenset(
    {"signs_and_symbols", "special", "unsorted", "shapes", "logos", "buttons", "jigsaw", "decorations"}
)


@dataclass(frozen=True)
class Emoji:
    """An emoji of emojibase: its characters in hex without variation selectors, name, tags and group."""

    code: str
    name: str
    tags: tuple[str, ...]
    group: int | None


@dataclass(frozen=True)
class Picture:
    """A picture file with the name it is trained or tried on, its other words, and where it comes from."""

    path: Path
    name: str
    tags: tuple[str, ...]
    origin: str


def emoji(work: Path) -> list[Emoji]:
    """All 1,949 emoji without skin tones."""
    entries = json.loads((source(work, "emojibase-data") / "en" / "data.json").read_text(encoding="utf-8"))
    return [
        Emoji(_plain(entry["hexcode"]), entry["label"], tuple(entry.get("tags", ())), entry.get("group"))
        for entry in entries
    ]


def draw(work: Path) -> None:
    """Draw every emoji of every SVG style, the unseen one included, as PNG files of 256 px."""
    modules = work / "node_modules" / "@resvg"
    modules.mkdir(parents=True, exist_ok=True)
    for name in ("@resvg/resvg-js", "@resvg/resvg-js-linux-x64-gnu"):
        target = modules / name.split("/")[1]
        if not target.exists():
            shutil.copytree(source(work, name), target)
    for style in (UNSEEN, *STYLES):
        _draw_style(work, style)


def training_pictures(work: Path) -> list[Picture]:
    """Emoji of the seven styles (no flags) and clip art, shuffled, so that any first part is a fair sample."""
    found = [
        Picture(path, item.name, item.tags, style)
        for style in (*STYLES, PAINTED)
        for item in emoji(work)
        if item.group != FLAGS and (path := _emoji_path(work, style, item)).is_file()
    ]
    found += _clip_art(work)
    random.Random(0).shuffle(found)
    return found


def unseen_style(work: Path) -> list[Picture]:
    """The things among the emoji, in the style that is never trained on."""
    return [
        Picture(path, item.name, item.tags, UNSEEN)
        for item in emoji(work)
        if item.group in THINGS and (path := _emoji_path(work, UNSEEN, item)).is_file()
    ]


def stamps(work: Path) -> list[Picture]:
    """Photo stamps with their captions, one of a caption, without the letters and signs: never trained on."""
    root = source(work, "tuxpaint-stamps-default") / "usr/share/tuxpaint/stamps"
    found: dict[str, Picture] = {}
    for path in sorted(root.rglob("*.png")):
        note = path.with_suffix(".txt")
        if "_mirror" in path.stem or "_flip" in path.stem or not note.is_file():
            continue
        lines = note.read_text(encoding="utf-8").splitlines()
        caption = lines[0].strip().rstrip(".") if lines else ""
        topic = path.relative_to(root).parts[0]
        if caption and caption not in found and topic != "symbols":
            found[caption] = Picture(path, caption, (), topic)
    return list(found.values())


def _plain(code: str) -> str:
    return "-".join(part for part in code.lower().split("-") if part != "fe0f")


def _emoji_path(work: Path, style: str, item: Emoji) -> Path:
    if style == PAINTED:
        return work / "painted" / f"{item.code}.webp"
    return work / "drawn" / style.split("/")[1] / f"{item.code}.png"


def _draw_style(work: Path, style: str) -> None:
    icons = json.loads((source(work, style) / "icons.json").read_text(encoding="utf-8"))
    jobs = []
    for item, icon in _icons(work, style, icons["icons"]):
        width, height = icon.get("width", icons.get("width", 16)), icon.get("height", icons.get("height", 16))
        svg = f'{SVG} viewBox="0 0 {width} {height}">{icon["body"]}</svg>'
        jobs.append({"svg": svg, "png": str(_emoji_path(work, style, item))})
    folder = work / "drawn" / style.split("/")[1]
    folder.mkdir(parents=True, exist_ok=True)
    listing, failed = folder / "list.json", folder / "failed.txt"
    listing.write_text(json.dumps(jobs), encoding="utf-8")
    command = ["node", str(Path(__file__).with_name("draw.cjs")), str(work / "node_modules"), str(listing), str(failed)]
    while subprocess.run(command, check=False).returncode:
        now = Path(f"{failed}.now")
        if not now.is_file():
            raise RuntimeError(f"node could not draw {style}; is it installed?")
        with failed.open("a", encoding="utf-8") as stream:
            stream.write(now.read_text(encoding="utf-8") + "\n")
        now.unlink()


def _icons(work: Path, style: str, icons: dict[str, Any]) -> Iterator[tuple[Emoji, dict[str, Any]]]:
    """The icon of each emoji: by its character where the style lists them, else by its name or a short code."""
    chars = json.loads((source(work, style) / "chars.json").read_text(encoding="utf-8"))
    by_code = {_plain(code): name for code, name in chars.items()}
    squashed = {re.sub(r"[^a-z0-9]", "", name): name for name in reversed(icons)}
    codes: dict[str, list[str]] = {}
    for path in sorted((source(work, "emojibase-data") / "en" / "shortcodes").glob("*.json")):
        for code, given in json.loads(path.read_text(encoding="utf-8")).items():
            codes.setdefault(_plain(code), []).extend([given] if isinstance(given, str) else given)
    for item in emoji(work):
        found = by_code.get(item.code)
        for word in () if by_code else (item.name, *codes.get(item.code, ())):
            found = found or squashed.get(re.sub(r"[^a-z0-9]", "", word.lower()))
        if found in icons:
            yield item, icons[found]


def unpack_painted(work: Path) -> None:
    """Copy the painted style under names without variation selectors."""
    target = work / "painted"
    target.mkdir(exist_ok=True)
    for path in (source(work, PAINTED) / "assets").glob("*.webp"):
        shutil.copyfile(path, target / f"{_plain(path.stem)}.webp")


def _clip_art(work: Path) -> list[Picture]:
    """Clip art whose file name holds nouns of WordNet: those are its name, its folders are its tags; one of a name."""
    root = source(work, "openclipart-png") / "usr/share/openclipart/png"
    index = source(work, "wordnet-base") / "usr/share/wordnet/index.noun"
    nouns = {line.split(" ", 1)[0] for line in index.read_text(encoding="utf-8").splitlines()}
    found: dict[str, Picture] = {}
    for path in sorted(root.rglob("*.png")):
        folders = path.relative_to(root).parts[:-1]
        # Titles end in the name of who drew them, cut off at 25 characters.
        words = [word for word in re.split(r"[^a-z]+", path.stem.lower()) if len(word) > 2]
        name = " ".join(word for word in words[:3] if word in nouns)
        if name and name not in found and not MEANINGLESS.intersection(folders):
            found[name] = Picture(path, name, tuple(folder.replace("_", " ") for folder in folders), "openclipart-png")
    return list(found.values())
