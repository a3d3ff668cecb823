"""The commands of the terminal: what they do, print and exit with. The flags are app.py's."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ui.settings import Settings, load, load_options, pick

if TYPE_CHECKING:
    from index import Item, Library


def add(options: argparse.Namespace, settings: Settings) -> int:
    """Add files and folders, one line of progress a file; 1 when a path named on the command line was not added."""
    from index import AddReport

    report = AddReport()
    with _library(settings) as library:
        for event in library.add([Path(path) for path in options.paths]):
            report.count(event)
            _say_event(event)
    if options.json:
        print_json(
            {
                "added": [_item(item) for item in report.added],
                "unchanged": [_item(item) for item in report.unchanged],
                "skipped": [{"path": skipped.path, "reason": skipped.reason} for skipped in report.skipped],
            }
        )
    else:
        print(f"{len(report.added)} added, {len(report.unchanged)} unchanged, {len(report.skipped)} skipped")
    named = {os.path.abspath(path) for path in options.paths}
    return int(any(os.path.abspath(skipped.path) in named for skipped in report.skipped))


def search(options: argparse.Namespace, settings: Settings) -> int:
    """Search by words, a picture, a sound, or words together with one of them."""
    from embedding.types import Timings
    from index import Kind, Query

    timings = Timings()
    with timings.stage("decode"):
        media = _question(options)
    kinds = frozenset({Kind(options.kind)} if options.kind else Kind)
    with _library(settings) as library:
        answer = library.search(Query(media, kinds=kinds, k=options.k))
    timings.merge(answer.timings)
    if options.json:
        files = {name: value for name in ("image", "audio") if (value := getattr(options, name))}
        hits = [
            {"rank": hit.rank, **_item(hit.item), "score": hit.score, "segment": _segment(hit)} for hit in answer.hits
        ]
        print_json(
            {
                "query": options.words,
                **files,
                "space": answer.space,
                "hits": hits,
                "timings": {**timings.ms, "total": timings.total},
            }
        )
        return 0
    for hit in answer.hits:
        print(
            f"{hit.rank:3} {hit.score:.3f} {hit.item.kind:8} {plain(hit.item.name)}  {hit.segment.label(hit.item.kind)}"
        )
    if not answer.hits:
        print("Nothing found: the library holds no such items. Add some with `python app.py add PATH`.")
    say(", ".join(f"{stage} {milliseconds:.0f} ms" for stage, milliseconds in timings.ms.items()))
    return 0


def list_items(options: argparse.Namespace, settings: Settings) -> int:
    """List the items of the library."""
    with _library(settings, embed=False) as library:
        items = library.items(limit=None)
    if options.json:
        print_json({"items": [_item(item) for item in items]})
        return 0
    for item in items:
        print(f"{item.id:6} {item.kind:8} {plain(item.name)}  {plain(item.path)}{item.note and f'  ({item.note})'}")
    if not items:
        print("The library is empty. Add files with `python app.py add PATH`.")
    return 0


def remove(options: argparse.Namespace, settings: Settings) -> int:
    """Remove items by id; the files themselves stay where they are."""
    with _library(settings, embed=False) as library:
        removed = library.remove(options.ids)
    unknown = sorted(set(options.ids) - set(removed))
    if options.json:
        print_json({"removed": removed, "unknown": unknown})
    else:
        print(f"{len(removed)} removed")
    if unknown:
        say(f"triptych: there is no item with id {', '.join(map(str, unknown))}; `python app.py list` shows all.")
    return int(bool(unknown))


def reembed(options: argparse.Namespace, settings: Settings) -> int:
    """Embed all items that have no vector of the chosen model yet."""
    failed = 0
    with _library(settings) as library:
        for event in library.embed_pending():
            failed += event.outcome == "skipped"
            _say_event(event)
        pending = library.pending()
    if options.json:
        print_json({"failed": failed, "pending": pending})
    else:
        print(f"{pending} items without a vector of this model")
    return int(failed > 0)


def models_list(options: argparse.Namespace, settings: Settings) -> int:
    """List models, their precisions and where they are."""
    from embedding import packages

    rows = packages.list_packages(settings.models_dir)
    if options.json:
        print_json({"models_dir": str(settings.models_dir), "packages": [_package(row) for row in rows]})
        return 0
    for row in rows:
        name, megabytes = f"{row.card.name:20} {row.package.precision:5}", row.size / 1e6
        print(f"{name} {megabytes:7.0f} MB  {row.state:15} {row.path or row.command}")
        for problem in row.problems:
            print(f"{'':20} {problem}")
    return 0


def models_pull(options: argparse.Namespace, settings: Settings) -> int:
    """Download a package, with progress, from where the last try stopped."""
    from embedding import packages

    shown = [-1]

    def report(name: str, done: int, total: int) -> None:
        percent = done * 100 // max(total, 1)
        if percent != shown[0]:
            shown[0] = percent
            say(f"\r{percent:3d} % of {total / 1e6:.0f} MB: {name:40}", end="")

    info = packages.pull(options.name, options.precision, settings.models_dir, packages.Hub(options.endpoint, report))
    say("")
    if options.json:
        print_json(_package(info))
    else:
        print(f"{info.card.title} ({info.package.precision}) is in {info.path}")
    return int(not info.usable)


def models_export(options: argparse.Namespace, settings: Settings) -> int:
    """Make a package from the original checkpoint; it is written whole or not at all, and goes on where it stopped."""
    from embedding.errors import PackageError

    try:
        from embedding.export.command import Order, export
    except ImportError as error:
        raise PackageError(
            f"Exporting needs more libraries ({error.name} is missing): run `pip install -r requirements-export.txt`."
        ) from error
    out_dir = Path(options.out).expanduser() if options.out else settings.models_dir
    checkpoint = Path(options.checkpoint).expanduser() if options.checkpoint else None
    order = Order(
        options.name, settings.precision or "int8", out_dir, checkpoint, tuple(options.weights), options.accept_drift
    )
    info = export(order, say)
    if options.json:
        print_json(_package(info))
    else:
        print(f"{info.card.title} ({info.package.precision}) is in {info.path}")
    return int(not info.usable)


def models_verify(options: argparse.Namespace, settings: Settings) -> int:
    """Check the files of all downloaded packages against the sha256 that was recorded."""
    from embedding import packages

    rows = [row for row in packages.list_packages(settings.models_dir) if row.path]
    faults = {row.package.directory: [*row.problems, *packages.verify(row)] for row in rows}
    if options.json:
        print_json({"ok": not any(faults.values()), "faults": faults})
    else:
        for directory, problems in faults.items():
            print(f"{directory}: {'; '.join(problems) or 'sound'}")
    return int(any(faults.values()))


def models_cache(options: argparse.Namespace, settings: Settings) -> int:
    """Size of the compiled graphs, or remove them."""
    from embedding import devices

    size = (devices.clear_cache if options.clear else devices.cache_size)(settings.cache_dir)
    if options.json:
        print_json({"cache": str(settings.cache_dir), "bytes": size, "cleared": options.clear})
    else:
        print(f"{size / 1e6:.1f} MB {'removed from' if options.clear else 'in'} {settings.cache_dir}")
    return 0


def bench(options: argparse.Namespace, settings: Settings) -> int:
    """Measure the latency of setups on a fixed workload, in turn; ratios are to the first of them."""
    from embedding import load_embedder, packages
    from embedding.benchmark import Result, Setup, Tick, measure
    from embedding.errors import LibraryError

    if options.report and not Path(options.report).parent.is_dir():
        raise LibraryError(f"There is no folder {Path(options.report).parent} for the report.")
    usable = [row for row in packages.list_packages(settings.models_dir) if row.usable]
    here = [Setup(row.card.name, str(row.package.precision), settings.device) for row in usable]
    setups = [_setup(text, settings.device) for text in options.setups] or here
    loading = load_options(settings)
    events = measure(
        setups,
        lambda setup: load_embedder(setup.model, setup.precision, setup.device, settings.models_dir, loading),
        options.rounds,
    )
    for event in events:
        if isinstance(event, Tick):
            say(f"\r{event.done}/{event.total} {event.doing:50}", end="")
        elif isinstance(event, Result):
            say("")
            _print_result(event, options)
    return 0


def doctor(options: argparse.Namespace, settings: Settings) -> int:
    """Check versions, devices, packages, the library, and one embedding a modality; 1 when something is broken."""
    from embedding.doctor import examine

    model, precision = pick(settings)
    report = examine(model, precision, settings.device, settings.models_dir)
    report.check("library", lambda: _library_check(settings))
    if options.json:
        print_json(report.as_json())
    else:
        print(report.as_text())
    return int(not report.ok)


def _library(settings: Settings, embed: bool = True) -> Library:
    from index import Library

    return Library(settings.data_dir, load(settings) if embed else None)


def _library_check(settings: Settings) -> str:
    with _library(settings, embed=False) as library:
        counts = library.count()
    return ", ".join(f"{number} {kind}" for kind, number in counts.items()) + f" in {settings.data_dir}"


def _question(options: argparse.Namespace) -> Any:
    from embedding.errors import LibraryError, MediaError
    from embedding.media import decode_audio, decode_image
    from embedding.types import Media

    if not (options.words.strip() or options.image or options.audio):
        raise LibraryError("Nothing was asked: give words, --image FILE or --audio FILE.")
    name = options.image or options.audio or ""
    try:
        image = decode_image(Path(options.image)) if options.image else None
        audio = decode_audio(Path(options.audio)) if options.audio else None
    except MediaError as error:
        raise MediaError(f"{name} {error}.") from error
    return Media(options.words.strip() or None, image, audio, name=name)


def _item(item: Item) -> dict[str, Any]:
    return {"id": item.id, "kind": str(item.kind), "name": item.name, "path": item.path}


def _segment(hit: Any) -> dict[str, Any]:
    part = hit.segment
    label = part.label(hit.item.kind)
    return {"ordinal": part.ordinal, "start": part.start, "end": part.end, "label": label, "text": part.text}


def _package(row: Any) -> dict[str, Any]:
    return {
        "name": row.card.name,
        "precision": str(row.package.precision),
        "state": row.state,
        "bytes": row.size,
        "path": str(row.path) if row.path else None,
        "repo": row.package.repo or None,
        "problems": list(row.problems),
    }


def say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def print_json(document: dict[str, Any]) -> None:
    """The only thing that a command with --json writes to standard output."""
    print(json.dumps(document, ensure_ascii=True, allow_nan=False))


def told(error: Exception) -> str:
    """An error in one sentence: its own words when it is ours, else what it is and how to see where it came from."""
    from embedding.errors import TriptychError

    if isinstance(error, TriptychError):
        return plain(str(error))
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}."
    return f"unexpected {type(error).__name__}: {plain(str(error))[:300]}. Set TRIPTYCH_TRACE=1 to see where."


def plain(text: str) -> str:
    """A name as one line that a terminal shows as it is: control characters and the like are spelled out."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text)


def _say_event(event: Any) -> None:
    reason = f" ({plain(event.reason)})" if event.reason else ""
    say(f"{event.done}/{event.total} {event.outcome}: {plain(event.path)}{reason}")


def _setup(text: str, device: str) -> Any:
    from embedding.benchmark import Setup
    from embedding.errors import LibraryError

    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise LibraryError(
            f"{text!r} is no setup; write MODEL:PRECISION or MODEL:PRECISION:DEVICE, like nano:int8:CPU."
        )
    return Setup(parts[0], parts[1], parts[2] if len(parts) == 3 else device)


def _print_result(result: Any, options: argparse.Namespace) -> None:
    if options.report:
        path = Path(options.report)
        formats = {".json": result.as_json, ".csv": result.as_csv, ".html": result.as_html}
        path.write_text(formats.get(path.suffix, result.as_html)(), encoding="utf-8")
        say(f"report written to {path}")
    if options.json:
        print(result.as_json())
        return
    for row in result.table():
        figures = (
            row["failure"]
            or f"{row['median_ms']:9.1f} ms  ({row['p5_ms']:.1f} to {row['p95_ms']:.1f})  x{row['ratio']:.2f}"
        )
        print(f"{row['setup']:40} {row['task']:24} {figures}")
