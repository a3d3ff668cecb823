"""Triptych: settings from flags and environment, the command line, and the page. Importing this file does nothing."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embedding import Embedder
    from index import Item, Library

HOME = Path.home() / ".triptych"
SAMPLES = Path(__file__).resolve().parent / "assets" / "library"
VERSION = "0.1.0"
# Variables of Intel's multimodal-embedding-serving, so that a host set up for it works unchanged.
INTEL = {
    "--models-dir": "EMBEDDING_OV_MODELS_DIR",
    "--model": "EMBEDDING_MODEL_NAME",
    "--precision": "GME_PRECISION",
    "--device": "EMBEDDING_DEVICE",
}


@dataclass(frozen=True)
class Settings:
    """Everything that can be set, read once. `model` is None for the best model that is here."""

    data_dir: Path
    models_dir: Path
    model: str | None
    precision: str | None
    device: str
    host: str = "127.0.0.1"
    port: int = 7860
    root_path: str = ""
    samples: bool = True
    instruction: str | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is 0 when done, 1 when something failed, 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):  # a file name may hold what the terminal cannot show
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    options = _parser(os.environ).parse_args(arguments)
    from embedding.errors import TriptychError

    try:
        command: Callable[[argparse.Namespace, Settings], int] = options.run
        return command(options, _settings(options))
    except TriptychError as error:
        _say(f"triptych: {error}")
        return 1
    except KeyboardInterrupt:
        _say("triptych: stopped; what was reported as done is kept.")
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1


# ---- commands


def serve(options: argparse.Namespace, settings: Settings) -> int:
    """Serve the page, until it is stopped."""
    from index import Library
    from ui import launch
    from ui.models import Shelf
    from ui.studio import Studio, StudioSettings

    embedder = load(settings)
    library = Library(settings.data_dir, embedder)
    folders = StudioSettings(settings.data_dir, settings.models_dir, SAMPLES if settings.samples else None)
    studio = Studio(library, embedder, Shelf(settings.models_dir), folders)
    launch(studio, settings.host, settings.port, settings.root_path)
    return 0


def add(options: argparse.Namespace, settings: Settings) -> int:
    """Add files and folders, one line of progress a file; 1 when a path named on the command line was not added."""
    from index import AddReport

    report = AddReport()
    with _library(settings) as library:
        for event in library.add([Path(path) for path in options.paths]):
            report.count(event)
            _say(f"{event.done}/{event.total} {event.outcome}: {event.path}{event.reason and f' ({event.reason})'}")
    if options.json:
        _print_json(
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
        _print_json(
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
        print(f"{hit.rank:3} {hit.score:.3f} {hit.item.kind:8} {hit.item.name}  {hit.segment.label(hit.item.kind)}")
    if not answer.hits:
        print("Nothing found: the library holds no such items. Add some with `python app.py add PATH`.")
    _say(", ".join(f"{stage} {milliseconds:.0f} ms" for stage, milliseconds in timings.ms.items()))
    return 0


def list_items(options: argparse.Namespace, settings: Settings) -> int:
    """List the items of the library."""
    with _library(settings, embed=False) as library:
        items = library.items(limit=None)
    if options.json:
        _print_json({"items": [_item(item) for item in items]})
        return 0
    for item in items:
        print(f"{item.id:6} {item.kind:8} {item.name}  {item.path}{item.note and f'  ({item.note})'}")
    if not items:
        print("The library is empty. Add files with `python app.py add PATH`.")
    return 0


def remove(options: argparse.Namespace, settings: Settings) -> int:
    """Remove items by id; the files themselves stay where they are."""
    with _library(settings, embed=False) as library:
        removed = library.remove(options.ids)
    unknown = sorted(set(options.ids) - set(removed))
    if options.json:
        _print_json({"removed": removed, "unknown": unknown})
    else:
        print(f"{len(removed)} removed")
    if unknown:
        _say(f"triptych: there is no item with id {', '.join(map(str, unknown))}; `python app.py list` shows all.")
    return int(bool(unknown))


def reembed(options: argparse.Namespace, settings: Settings) -> int:
    """Embed all items that have no vector of the chosen model yet."""
    failed = 0
    with _library(settings) as library:
        for event in library.embed_pending():
            failed += event.outcome == "skipped"
            _say(f"{event.done}/{event.total} {event.outcome}: {event.path}{event.reason and f' ({event.reason})'}")
        pending = library.pending()
    if options.json:
        _print_json({"failed": failed, "pending": pending})
    else:
        print(f"{pending} items without a vector of this model")
    return int(failed > 0)


def models_list(options: argparse.Namespace, settings: Settings) -> int:
    """List models, their precisions and where they are."""
    from embedding import packages

    rows = packages.list_packages(settings.models_dir)
    if options.json:
        _print_json({"models_dir": str(settings.models_dir), "packages": [_package(row) for row in rows]})
        return 0
    for row in rows:
        pull = (
            f"python app.py models pull {row.card.name} --precision {row.package.precision}" if row.package.repo else ""
        )
        print(
            f"{row.card.name:20} {row.package.precision:5} {row.size / 1e6:7.0f} MB  {row.state:15} {row.path or pull}"
        )
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
            _say(f"\r{percent:3d} % of {total / 1e6:.0f} MB: {name:40}", end="")

    info = packages.pull(options.name, options.precision, settings.models_dir, packages.Hub(options.endpoint, report))
    _say("")
    if options.json:
        _print_json(_package(info))
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
    info = export(order, _say)
    if options.json:
        _print_json(_package(info))
    else:
        print(f"{info.card.title} ({info.package.precision}) is in {info.path}")
    return int(not info.usable)


def models_verify(options: argparse.Namespace, settings: Settings) -> int:
    """Check the files of all downloaded packages against the sha256 that was recorded."""
    from embedding import packages

    rows = [row for row in packages.list_packages(settings.models_dir) if row.path]
    faults = {row.package.directory: [*row.problems, *packages.verify(row)] for row in rows}
    if options.json:
        _print_json({"ok": not any(faults.values()), "faults": faults})
    else:
        for directory, problems in faults.items():
            print(f"{directory}: {'; '.join(problems) or 'sound'}")
    return int(any(faults.values()))


def doctor(options: argparse.Namespace, settings: Settings) -> int:
    """Check versions, devices, packages, the library, and one embedding a modality; 1 when something is broken."""
    from embedding.doctor import examine

    model, precision = _model(settings)
    report = examine(model, precision, settings.device, settings.models_dir)
    report.check("library", lambda: _library_check(settings))
    if options.json:
        _print_json(report.as_json())
    else:
        print(report.as_text())
    return int(not report.ok)


# ---- what the commands share


def _settings(options: argparse.Namespace) -> Settings:
    data_dir = Path(options.data_dir).expanduser()
    return Settings(
        data_dir=data_dir,
        models_dir=Path(options.models_dir).expanduser() if options.models_dir else data_dir / "models",
        model=options.model,
        precision=options.precision,
        device=options.device,
        host=options.host,
        port=options.port,
        root_path=options.root_path,
        samples=not options.no_samples,
        instruction=options.instruction or None,
    )


def _model(settings: Settings) -> tuple[str, str]:
    """Name and precision to load: what was asked for, else the best that is here (`nano` without a download)."""
    from embedding import packages

    return packages.choose(settings.model, settings.precision, settings.models_dir)


def load(settings: Settings) -> Embedder:
    """The embedder that the settings ask for."""
    from embedding import load_embedder
    from embedding.embedder import LoadOptions

    name, precision = _model(settings)
    options = LoadOptions(instruction=settings.instruction)
    return load_embedder(name, precision, settings.device, settings.models_dir, options)


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


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def _print_json(document: dict[str, Any]) -> None:
    """The only thing that a command with --json writes to standard output."""
    print(json.dumps(document, ensure_ascii=True, allow_nan=False))


# ---- flags


def _parser(environment: Any) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="app.py", description="Search documents, pictures and sounds by meaning.")
    parser.add_argument("--version", action="version", version=VERSION)
    _add_settings(parser, environment)
    parser.set_defaults(run=serve)
    commands = parser.add_subparsers(title="commands", metavar="", description="without one, the page is served")
    _command(commands, "serve", serve)
    command = _command(commands, "add", add, as_json=True)
    command.add_argument("paths", nargs="+", metavar="PATH", help="file or folder")
    command = _command(commands, "search", search, as_json=True)
    command.add_argument("words", nargs="?", default="", metavar="WORDS")
    command.add_argument("--image", metavar="FILE", help="picture to search with")
    command.add_argument("--audio", metavar="FILE", help="sound to search with")
    command.add_argument("--kind", choices=("document", "image", "audio"), help="only answers of this kind")
    command.add_argument("-k", type=_positive, default=10, metavar="N", help="number of answers (10)")
    _command(commands, "list", list_items, as_json=True)
    command = _command(commands, "remove", remove, as_json=True)
    command.add_argument("ids", nargs="+", type=int, metavar="ID")
    _command(commands, "reembed", reembed, as_json=True)
    _command(commands, "doctor", doctor, as_json=True)
    models = commands.add_parser("models", help="list, download and check model packages")
    actions = models.add_subparsers(title="actions", metavar="", required=True)
    _command(actions, "list", models_list, as_json=True)
    command = _command(actions, "pull", models_pull, as_json=True)
    command.add_argument("name", metavar="NAME")
    command.add_argument("--endpoint", help="address of a mirror of the hub")
    command = _command(actions, "export", models_export, as_json=True)
    command.add_argument("name", metavar="NAME")
    command.add_argument("--checkpoint", metavar="DIR", help="folder of the original weights; downloaded without it")
    command.add_argument("--out", metavar="DIR", help="folder that gets the package's folder, the models folder if not")
    command.add_argument("--accept-drift", action="store_true", help="keep a package below the threshold of drift")
    weights = "how a part is stored, like language=int4_asym:64 (may be given several times)"
    command.add_argument("--weights", action="append", default=[], metavar="PART=MODE[:GROUP]", help=weights)
    _command(actions, "verify", models_verify, as_json=True)
    return parser


def _command(commands: Any, name: str, run: Callable[..., int], as_json: bool = False) -> argparse.ArgumentParser:
    summary = (run.__doc__ or "").split(";")[0].rstrip(".").splitlines()[0]
    command: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=run.__doc__)
    _add_settings(command, None)
    command.set_defaults(run=run)
    if as_json:
        command.add_argument("--json", action="store_true", help="one JSON document on standard output")
    return command


def _add_settings(parser: argparse.ArgumentParser, environment: Any) -> None:
    """The flags of every command. After a command's name they have no defaults, so that those before it survive."""

    def flag(name: str, default: Any, text: str, **more: Any) -> None:
        key = "TRIPTYCH_" + name.lstrip("-").replace("-", "_").upper()
        value = argparse.SUPPRESS if environment is None else _setting(environment, key, INTEL.get(name), default)
        keys = ", ".join(filter(None, (key, INTEL.get(name))))
        parser.add_argument(name, default=value, help=f"{text} ({keys})", **more)

    flag("--data-dir", str(HOME), f"folder of the library, {HOME} by default", metavar="DIR")
    flag("--models-dir", None, "folder of model packages, `models` in the data folder by default", metavar="DIR")
    flag("--model", None, "model by name, the best that is here by default", metavar="NAME")
    flag("--precision", None, "precision of its weights", choices=("fp32", "fp16", "int8", "int4"))
    flag("--device", "CPU", "device as OpenVINO spells it", metavar="NAME")
    flag("--host", "127.0.0.1", "address to serve at; others than loopback open the library to the network")
    flag("--port", 7860, "port to serve at", type=_port)
    flag("--root-path", "", "path of the page behind a proxy", metavar="PATH")
    flag("--instruction", None, "what a query asks for, in words, for models that take one", metavar="TEXT")
    off = argparse.SUPPRESS if environment is None else False
    parser.add_argument("--no-samples", action="store_true", default=off, help="do not add the sample library at first")


def _setting(environment: Any, key: str, other: str | None, default: Any) -> Any:
    """Ours wins over the variable of Intel's service, whose precisions and devices may be spelt in other cases."""
    if key in environment or other is None or not environment.get(other):
        return environment.get(key, default)
    value = environment[other]
    return {"GME_PRECISION": value.lower(), "EMBEDDING_DEVICE": value.upper()}.get(other, value)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65_535:
        raise argparse.ArgumentTypeError("must be 0 to 65535")
    return number


if __name__ == "__main__":
    sys.exit(main())
