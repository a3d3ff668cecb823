"""Triptych: settings from flags and environment, the command line, and the page. Importing this file does nothing."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ui import terminal
from ui.settings import Settings, load, load_options

HOME = Path.home() / ".triptych"
SAMPLES = Path(__file__).resolve().parent / "assets" / "library"
VERSION = "0.1.0"
# Variables of Intel's multimodal-embedding-serving, so that a host set up for it works unchanged.
INTEL = {
    "--models-dir": "EMBEDDING_OV_MODELS_DIR",
    "--model": "EMBEDDING_MODEL_NAME",
    "--precision": "GME_PRECISION",
    "--device": "EMBEDDING_DEVICE",
    "--performance": "OV_PERFORMANCE_MODE",
    "--gpu-plugin": "OV_GPU_PLUGIN",
    "--cache": "OV_ENABLE_MODEL_CACHE",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is 0 when done, 1 when something failed, 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):  # a file name may hold what the terminal cannot show
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    options = _parser(os.environ).parse_args(arguments)
    try:
        command: Callable[[argparse.Namespace, Settings], int] = options.run
        code = command(options, _settings(options))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        terminal.say("triptych: stopped; what was reported as done is kept.")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except Exception as error:
        if "TRIPTYCH_TRACE" in os.environ:
            raise
        terminal.say(f"triptych: {terminal.told(error)}")
        with contextlib.suppress(OSError):
            sys.stdout.close()  # what could not be written must not be tried again at exit
    return 1


# ---- wiring


def serve(options: argparse.Namespace, settings: Settings) -> int:
    """Serve the page, until it is stopped."""
    from index import Library
    from ui import launch
    from ui.models import Shelf
    from ui.studio import Studio, StudioSettings

    embedder = load(settings)
    library = Library(settings.data_dir, embedder)
    folders = StudioSettings(settings.data_dir, settings.models_dir, SAMPLES if settings.samples else None)
    studio = Studio(library, embedder, Shelf(settings.models_dir, load_options(settings)), folders)
    launch(studio, settings.host, settings.port, settings.root_path)
    return 0


def _settings(options: argparse.Namespace) -> Settings:
    data_dir = Path(os.path.expanduser(options.data_dir))
    return Settings(
        data_dir=data_dir,
        models_dir=Path(os.path.expanduser(options.models_dir)) if options.models_dir else data_dir / "models",
        model=options.model,
        precision=options.precision,
        device=options.device,
        host=options.host,
        port=options.port,
        root_path=options.root_path,
        samples=not options.no_samples,
        instruction=options.instruction or None,
        image_budget=options.image_budget,
        dim=options.dim,
        performance=options.performance,
        gpu_plugin=Path(options.gpu_plugin).expanduser() if options.gpu_plugin else None,
        cache=options.cache != "0",
    )


# ---- flags


def _parser(environment: Any) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="app.py", description="Search documents, pictures and sounds by meaning.")
    parser.add_argument("--version", action="version", version=VERSION)
    _add_settings(parser, environment)
    parser.set_defaults(run=serve)
    commands = parser.add_subparsers(title="commands", metavar="", description="without one, the page is served")
    _command(commands, "serve", serve)
    command = _command(commands, "add", terminal.add, as_json=True)
    command.add_argument("paths", nargs="+", metavar="PATH", help="file or folder")
    command = _command(commands, "search", terminal.search, as_json=True)
    command.add_argument("words", nargs="?", default="", metavar="WORDS")
    command.add_argument("--image", metavar="FILE", help="picture to search with")
    command.add_argument("--audio", metavar="FILE", help="sound to search with")
    command.add_argument("--kind", choices=("document", "image", "audio"), help="only answers of this kind")
    command.add_argument("-k", type=_positive, default=10, metavar="N", help="number of answers (10)")
    _command(commands, "list", terminal.list_items, as_json=True)
    command = _command(commands, "remove", terminal.remove, as_json=True)
    command.add_argument("ids", nargs="+", type=int, metavar="ID")
    _command(commands, "reembed", terminal.reembed, as_json=True)
    _command(commands, "doctor", terminal.doctor, as_json=True)
    command = _command(commands, "bench", terminal.bench, as_json=True)
    command.add_argument(
        "setups", nargs="*", metavar="SETUP", help="MODEL:PRECISION[:DEVICE]; all that are here if none"
    )
    command.add_argument("--rounds", type=_positive, default=9, metavar="N", help="measured rounds (9)")
    command.add_argument("--report", metavar="FILE", help="write a report to FILE.html, .csv or .json")
    models = commands.add_parser("models", help="list, download and check model packages")
    actions = models.add_subparsers(title="actions", metavar="", required=True)
    _command(actions, "list", terminal.models_list, as_json=True)
    command = _command(actions, "pull", terminal.models_pull, as_json=True)
    command.add_argument("name", metavar="NAME")
    command.add_argument("--endpoint", help="address of a mirror of the hub")
    command = _command(actions, "export", terminal.models_export, as_json=True)
    command.add_argument("name", metavar="NAME")
    command.add_argument("--checkpoint", metavar="DIR", help="folder of the original weights; downloaded without it")
    command.add_argument("--out", metavar="DIR", help="folder that gets the package's folder, the models folder if not")
    command.add_argument("--accept-drift", action="store_true", help="keep a package below the threshold of drift")
    weights = "how a part is stored, like language=int4_asym:64 (may be given several times)"
    command.add_argument("--weights", action="append", default=[], metavar="PART=MODE[:GROUP]", help=weights)
    _command(actions, "verify", terminal.models_verify, as_json=True)
    command = _command(actions, "cache", terminal.models_cache, as_json=True)
    command.add_argument(
        "--clear", action="store_true", help="remove all compiled graphs; they are made anew when needed"
    )
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
        if "choices" in more and value not in (argparse.SUPPRESS, None, *more["choices"]):
            parser.error(f"{keys} is {value!r}; choose from {', '.join(more['choices'])}")
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
    flag("--image-budget", None, "most soft tokens of a picture, 70, 140 or 280 for EmbeddingGemma 2", type=_positive)
    flag("--dim", None, "size of the vectors, a prefix the model was trained for", type=_positive)
    flag("--performance", "LATENCY", "what the device is asked for", choices=("LATENCY", "THROUGHPUT"))
    flag("--gpu-plugin", None, "library that takes the place of OpenVINO's GPU plugin", metavar="FILE")
    flag("--cache", "1", "keep compiled graphs in the data folder; 0 turns it off", choices=("0", "1"))
    off = argparse.SUPPRESS if environment is None else False
    parser.add_argument("--no-samples", action="store_true", default=off, help="do not add the sample library at first")


def _setting(environment: Any, key: str, other: str | None, default: Any) -> Any:
    """Ours wins over the variable of Intel's service, whose precisions and devices may be spelt in other cases."""
    if key in environment or other is None or not environment.get(other):
        return environment.get(key, default)
    value = environment[other]
    lower, upper = {"GME_PRECISION"}, {"EMBEDDING_DEVICE", "OV_PERFORMANCE_MODE"}
    return value.lower() if other in lower else value.upper() if other in upper else value


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
