"""A checkpoint on disk: which weights it holds, where they come from, and parts of it in memory, one at a time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from tokenizers import Tokenizer

from embedding.errors import PackageError

_COMMIT_NOTE = ".cache/huggingface/download/config.json.metadata"  # what the hub's client writes beside a download


@dataclass(frozen=True)
class Checkpoint:
    """A folder with config.json, tokenizer.json and safetensors files; `repo` is its name on the hub."""

    folder: Path
    repo: str = ""

    def check(self) -> None:
        """PackageError when the folder is no checkpoint."""
        missing = [name for name in ("config.json", "tokenizer.json") if not (self.folder / name).is_file()]
        if missing or not self.files:
            lacks = ", ".join(missing) or "*.safetensors"
            raise PackageError(f"{self.folder} is no checkpoint of {self.repo}: it lacks {lacks}.")

    @property
    def files(self) -> list[Path]:
        """The weights' files."""
        return sorted(self.folder.glob("*.safetensors"))

    @cached_property
    def places(self) -> dict[str, Path]:
        """The file of every tensor."""
        found = {}
        for path in self.files:
            with safe_open(path, framework="pt") as tensors:
                found.update(dict.fromkeys(tensors.keys(), path))
        return found

    @property
    def config(self) -> dict[str, Any]:
        """Content of config.json."""
        content: dict[str, Any] = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        return content

    @property
    def revision(self) -> str:
        """The hub's commit where the folder says so, else `unknown`."""
        note = self.folder / _COMMIT_NOTE
        if note.is_file():
            return note.read_text(encoding="utf-8").split()[0]
        return self.folder.name if self.folder.parent.name == "snapshots" else "unknown"

    @property
    def identity(self) -> dict[str, Any]:
        """What sets this checkpoint apart without reading all of it: names, sizes and times of its files."""
        return {path.name: [path.stat().st_size, path.stat().st_mtime_ns] for path in self.files}

    def source(self) -> dict[str, Any]:
        """Where it comes from, for the config of a package: reads every byte."""
        hashes = {}
        for path in self.files:
            with path.open("rb") as stream:
                hashes[path.name] = hashlib.file_digest(stream, "sha256").hexdigest()
        return {"repo": self.repo, "revision": self.revision, "sha256": hashes}

    def tokenizer(self) -> Tokenizer:
        """Its tokenizer."""
        return Tokenizer.from_file(str(self.folder / "tokenizer.json"))

    def prefix(self, probe: str, candidates: Iterable[str]) -> str:
        """The candidate under which a tensor is kept: names differ between versions of transformers."""
        for candidate in candidates:
            if candidate + probe in self.places:
                return candidate
        raise PackageError(f"{self.folder} holds no tensor {probe}: it is no checkpoint of {self.repo}.")

    def size(self, prefix: str) -> int:
        """Numbers in all tensors of a prefix, from the headers alone."""
        total = 0
        for name, path in self.places.items():
            if name.startswith(prefix):
                with safe_open(path, framework="pt") as tensors:
                    count = 1
                    for length in tensors.get_slice(name).get_shape():
                        count *= length
                total += count
        return total

    def fill(self, build: Callable[[], Any], prefix: str) -> Any:
        """The module with the tensors of a prefix as f32; nothing else of the checkpoint is read.

        `build` runs without memory for weights; buffers that are not stored must be made anew by the caller.
        """
        with torch.device("meta"):
            module = build()
        wanted = module.state_dict().keys()
        missing = sorted(name for name in wanted if prefix + name not in self.places)
        if missing:
            raise PackageError(f"{self.folder} lacks {len(missing)} tensors, {prefix}{missing[0]} among them.")
        tensors = {name: self._tensor(prefix + name).to(torch.float32) for name in wanted}
        module.load_state_dict(tensors, assign=True)
        return module.eval()

    def _tensor(self, name: str) -> torch.Tensor:
        with safe_open(self.places[name], framework="pt") as tensors:
            found: torch.Tensor = tensors.get_tensor(name)
            return found
