"""Model packages on disk and on the hub: find, list, check, download. The only owner of huggingface_hub."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedding.catalog import CARDS, ModelCard, Package, card_named, local_card, with_package
from embedding.errors import PackageError
from embedding.towers import FAMILIES
from embedding.types import Precision

BUILTIN_DIR = Path(__file__).resolve().parent.parent / "assets" / "models"
# What `pull` recorded of the files it fetched: commit, sizes and sha256. `models list --verify` checks against it.
RECORD = "triptych-source.json"
ABOUT = "triptych.json"

Report = Callable[[str, int, int], None]
Remote = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Hub:
    """Where to download from (None: the hub's own address) and whom to tell of progress."""

    endpoint: str | None = None
    report: Report | None = None


@dataclass(frozen=True)
class PackageInfo:
    """One precision of a model as it is here: folder (None when absent), bytes on disk, and what is wrong."""

    card: ModelCard
    package: Package
    path: Path | None
    size: int
    problems: tuple[str, ...]

    @property
    def usable(self) -> bool:
        """True when it can be loaded."""
        return self.path is not None and not self.problems

    @property
    def command(self) -> str:
        """What to run to have it; empty when it is built in or was put here by hand."""
        action = "pull" if self.package.repo else "export" if self.card.checkpoint else ""
        return f"python app.py models {action} {self.card.name} --precision {self.package.precision}" if action else ""

    @property
    def state(self) -> str:
        """For a list: `here`, `damaged`, `not downloaded`, `not exported` or `missing`."""
        if self.path is None:
            if self.package.repo:
                return "not downloaded"
            return "not exported" if self.card.checkpoint else "missing"
        return "damaged" if self.problems else "here"


def cards(models_dir: Path | None = None) -> tuple[ModelCard, ...]:
    """All models: the rows of the catalogue, and packages in the models folder that have a triptych.json."""
    known = {card.name: card for card in CARDS}
    for folder in _subfolders(models_dir):
        about = _about(folder)
        if about is None:
            continue
        name, precision = about["name"], Precision(about["precision"])
        card = known.get(name)
        if card is None:
            known[name] = local_card(name, precision, folder.name, about)
        elif all(package.precision != precision for package in card.packages):
            known[name] = with_package(card, local_card(name, precision, folder.name, about).packages[0])
    return tuple(known.values())


def list_packages(models_dir: Path | None = None) -> tuple[PackageInfo, ...]:
    """Every precision of every model, with where it is and what is wrong with it."""
    return tuple(describe(card, package, models_dir) for card in cards(models_dir) for package in card.packages)


def describe(card: ModelCard, package: Package, models_dir: Path | None) -> PackageInfo:
    """State of one package on disk: files that lack, are empty, or have another size than `pull` recorded."""
    there = [root / package.directory for root in _roots(models_dir) if (root / package.directory).is_dir()]
    # A sound one before a damaged one: junk in the models folder does not hide the built-in package.
    folder = min(there, key=lambda place: bool([*_problems(place, package)]), default=None)
    if folder is None:
        return PackageInfo(card, package, None, package.size, ())
    problems = tuple(_problems(folder, package))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return PackageInfo(card, package, folder, size, problems)


def card(name: str, models_dir: Path | None = None) -> ModelCard:
    """The card of that name or alias; PackageError naming the known ones."""
    return card_named(name, cards(models_dir))


def find(name: str, precision: str, models_dir: Path | None = None) -> PackageInfo:
    """The package when it can be loaded; PackageError that lists what is missing and the command to run otherwise."""
    card = card_named(name, cards(models_dir))
    package = card.package(precision)
    info = describe(card, package, models_dir)
    if info.usable:
        return info
    otherwise = "reinstall Triptych" if card.builtin else "put a sound package there"
    fetch = f"run `{info.command}`" if info.command else otherwise
    put = f", or put its files into {models_dir / package.directory}" if models_dir and package.repo else ""
    if info.path is None:
        raise PackageError(f"The {precision} package of {name} is not here; {fetch}{put}.")
    raise PackageError(
        f"The {precision} package of {name} in {info.path} is damaged: {'; '.join(info.problems)}; {fetch}{put}."
    )


def choose(name: str | None, precision: str | None, models_dir: Path | None = None) -> tuple[str, str]:
    """Name and precision to load. Without a name the first downloaded model, else the built-in one; without a precision
    the first of the model's that is here. What was asked for is never replaced."""
    rows = list_packages(models_dir)
    if name is not None:
        name = card(name, models_dir).name
    else:
        listed = {card.name for card in CARDS if not card.builtin}
        name = next((row.card.name for row in rows if row.usable and row.card.name in listed), "nano")
    if precision is None:
        here = [row.package.precision for row in rows if row.card.name == name and row.usable]
        precision = here[0] if here else card_named(name, cards(models_dir)).packages[0].precision
    return name, str(precision)


def verify(info: PackageInfo) -> tuple[str, ...]:
    """Hash every recorded file; the names of those that differ from what was downloaded. Empty for a sound package."""
    if info.path is None:
        return ("the package is not here",)
    record = _read_record(info.path)
    return tuple(
        f"{name} has another sha256 than the downloaded one"
        for name, entry in record["files"].items()
        if entry["sha256"] and (info.path / name).is_file() and _sha256(info.path / name) != entry["sha256"]
    )


def pull(name: str, precision: str, models_dir: Path, hub: Hub | None = None) -> PackageInfo:
    """Download a package: one commit for all files, resumed where it broke off, each file checked by sha256.

    `hub.report(file, bytes done, bytes in all)` is called as it goes. Raises PackageError when the hub cannot be
    reached, lacks a file, or a file arrives damaged; what has arrived is kept for the next try.
    """
    card = card_named(name, cards(models_dir))
    package = card.package(precision)
    if not package.repo:
        raise PackageError(f"The {precision} package of {name} is not on the hub: it is built in or was put here.")
    folder = models_dir / package.directory
    revision = str(_read_record(folder).get("revision") or package.revision)
    hub = hub or Hub()
    try:
        commit, remote = _remote_files(package, revision, hub.endpoint)
        _fetch_all(package.repo, folder, commit, remote, hub)
    except PackageError:
        raise
    except Exception as error:  # the library lets the errors of its HTTP client of the day through
        raise PackageError(_offline(card, package, folder, error)) from error
    return describe(card, package, models_dir)


def pull_checkpoint(card: ModelCard, models_dir: Path, tell: Callable[[str], None]) -> Path:
    """Download the original weights of a model for an export, resumed where it broke off; the folder they are in."""
    from huggingface_hub import snapshot_download

    folder = models_dir / "checkpoints" / card.checkpoint.replace("/", "--")
    tell(f"Downloading {card.checkpoint} to {folder}; give --checkpoint DIR when you have it.")
    try:
        snapshot_download(card.checkpoint, local_dir=folder, allow_patterns=["*.json", "*.safetensors"])
    except Exception as error:  # the library lets the errors of its HTTP client of the day through
        reason = str(error).strip().splitlines()[0][:160] if str(error).strip() else type(error).__name__
        raise PackageError(
            f"{card.checkpoint} could not be downloaded: {reason}. What has arrived is kept; run the command again, or "
            "give its folder with --checkpoint DIR."
        ) from error
    return folder


def _fetch_all(repo: str, folder: Path, commit: str, remote: Remote, hub: Hub) -> None:
    """Fetch what is not here yet, one file after the other, and check each by size and sha256."""
    from huggingface_hub import hf_hub_download

    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / RECORD, {"repo": repo, "revision": commit, "files": remote})
    total, done = sum(entry["size"] for entry in remote.values()), 0
    for name, entry in remote.items():
        if not _matches(folder / name, entry):
            bar = _bar(name, done, total, hub.report)
            hf_hub_download(repo, name, revision=commit, local_dir=folder, endpoint=hub.endpoint, tqdm_class=bar)
            if not _matches(folder / name, entry):
                (folder / name).unlink(missing_ok=True)
                raise PackageError(f"{name} arrived damaged (sha256 differs from the hub's); run the command again.")
        done += entry["size"]
        if hub.report:
            hub.report(name, done, total)


def _remote_files(package: Package, revision: str, endpoint: str | None) -> tuple[str, Remote]:
    """The commit behind the revision, and size and sha256 (where the hub knows it) of the package's files in it."""
    from huggingface_hub import HfApi

    info = HfApi(endpoint=endpoint).model_info(package.repo, revision=revision, files_metadata=True, timeout=20)
    found = {
        entry.rfilename: {"size": entry.size or 0, "sha256": entry.lfs.sha256 if entry.lfs else None}
        for entry in info.siblings or ()
    }
    missing = [name for name in package.files if name not in found]
    if missing or not info.sha:
        raise PackageError(
            f"{package.repo} at {revision} lacks {', '.join(missing) or 'a commit'}: its layout changed."
        )
    return str(info.sha), {name: found[name] for name in (*package.files, *package.optional_files) if name in found}


def _bar(name: str, done: int, total: int, report: Report | None) -> type:
    """A progress bar class for huggingface_hub that draws nothing and reports bytes."""
    from tqdm.auto import tqdm

    class Silent(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            super().__init__(*args, **{**kwargs, "disable": False, "file": io.StringIO()})

        def update(self, n: float | None = 1) -> bool | None:
            shown: bool | None = super().update(n)
            if report:
                report(name, done + int(self.n), total)
            return shown

    return Silent


def _offline(card: ModelCard, package: Package, folder: Path, error: Exception) -> str:
    reason = str(error).strip().splitlines()[0][:160] if str(error).strip() else type(error).__name__
    command = f"python app.py models pull {card.name} --precision {package.precision}"
    return (
        f"{card.title} ({package.precision}) could not be downloaded: {reason}. What has arrived is kept; run "
        f"`{command}` again, or copy the files of {package.repo} into {folder}."
    )


def _problems(folder: Path, package: Package) -> Iterator[str]:
    recorded = _read_record(folder)["files"]
    for name in package.files:
        path = folder / name
        if not path.is_file():
            yield f"{name} is missing"
        elif path.stat().st_size == 0:
            yield f"{name} is empty"
        elif name in recorded and path.stat().st_size != recorded[name]["size"]:
            yield f"{name} has {path.stat().st_size} bytes instead of {recorded[name]['size']}"


def _matches(path: Path, entry: dict[str, Any]) -> bool:
    if not path.is_file() or path.stat().st_size != entry["size"]:
        return False
    return entry["sha256"] is None or _sha256(path) == entry["sha256"]


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _roots(models_dir: Path | None) -> tuple[Path, ...]:
    return (models_dir, BUILTIN_DIR) if models_dir else (BUILTIN_DIR,)


def _subfolders(models_dir: Path | None) -> Iterator[Path]:
    for root in _roots(models_dir):
        if root.is_dir():
            yield from sorted(path for path in root.iterdir() if path.is_dir())


def _about(folder: Path) -> dict[str, Any] | None:
    """What a package says of itself, or None when it says nothing usable."""
    about = _load(folder / ABOUT)
    words = [about.get(key, "gemma") for key in ("name", "family", "precision", "title", "version")]
    sizes = about.get("matryoshka", [])
    if not all(isinstance(word, str) and word and word.isprintable() for word in words):
        return None
    if about.get("name") is None or about["precision"] not in set(Precision) or words[1] not in FAMILIES:
        return None
    if not (isinstance(sizes, list) and all(type(size) is int and size > 0 for size in sizes)):
        return None
    return about


def _read_record(folder: Path) -> dict[str, Any]:
    """What `pull` wrote, without entries that are none of its: a record is a file like any other and may be damaged."""
    record = _load(folder / RECORD)
    files = record.get("files")
    entries = files.items() if isinstance(files, dict) else ()
    sound = {
        name: {"size": entry["size"], "sha256": entry.get("sha256")}
        for name, entry in entries
        if isinstance(entry, dict) and type(entry.get("size")) is int and ".." not in Path(name).parts
    }
    return {**record, "files": {name: entry for name, entry in sound.items() if not Path(name).is_absolute()}}


def _load(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, path)
