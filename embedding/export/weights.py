"""How the weights of a part are stored: modes, what each precision of a family means, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import nncf
import openvino as ov

from embedding.errors import PackageError
from embedding.types import Precision

# Measured on EmbeddingGemma 2 and published with its packages: not to be tried again.
ASYMMETRIC_VISION = "INT8_ASYM destroys the vision tower (cosine 0.12 with the original); use int8_sym"
ACTIVATIONS = "W8A8 destroys the vision tower (cosine 0.019) and fails on audio; weights alone are quantised, int8_sym"
_MODES = ("fp32", "fp16", "int8_sym", "int8_asym", "int4_sym", "int4_asym")


@dataclass(frozen=True)
class Weights:
    """Storage of one part: mode, and for 4 bits how many columns share a scale and whether activations are looked at.

    `calibrated` means AWQ and scale estimation over the samples of the job. Kernels and matrices of fewer numbers than
    `least` keep 16 bits: convolutions by channel are a small part of the weights and most of the error.
    """

    mode: str
    group: int = 0
    calibrated: bool = False
    least: int = 0

    def __str__(self) -> str:
        group = f" group {self.group}" if self.group else ""
        small = f", fp16 below {self.least} numbers" if self.least else ""
        return self.mode + group + (", AWQ and scale estimation" if self.calibrated else "") + small


def weights_of(precision: Precision, parts: Iterable[str], group: int = 128) -> dict[str, Weights]:
    """Storage of every part: of `int4` only the language model has 4 bits, all else INT8 symmetric."""
    if precision is Precision.INT4:
        small = {"language": Weights("int4_asym", group, calibrated=True)}
        return {part: small.get(part, Weights("int8_sym")) for part in parts}
    mode = {Precision.FP32: "fp32", Precision.FP16: "fp16", Precision.INT8: "int8_sym"}[precision]
    return {part: Weights(mode) for part in parts}


def overridden(weights: Mapping[str, Weights], settings: Iterable[str]) -> dict[str, Weights]:
    """Storage with settings like `language=int4_asym:64` in; PackageError for unknown and for known-bad ones."""
    chosen = dict(weights)
    for setting in settings:
        part, _, text = setting.partition("=")
        mode, _, group = text.partition(":")
        if part not in chosen:
            raise PackageError(f"There is no part {part!r}; this model has {', '.join(chosen)}.")
        check_known_bad(part, mode)
        if mode not in _MODES or not (group or "0").isdigit():
            raise PackageError(f"{setting!r} is no storage of weights; modes are {', '.join(_MODES)}, MODE:GROUP.")
        small = mode.startswith("int4")
        chosen[part] = replace(chosen[part], mode=mode, group=int(group or 128) if small else 0, calibrated=small)
    return chosen


def check_settings(settings: Iterable[str]) -> None:
    """PackageError for known-bad settings, before anything is read."""
    for setting in settings:
        part, _, text = setting.partition("=")
        check_known_bad(part, text.partition(":")[0])


def check_known_bad(part: str, mode: str) -> None:
    """PackageError with the reason for what is known to destroy a tower."""
    if mode == "w8a8":
        raise PackageError(f"{part}={mode} is refused: {ACTIVATIONS}.")
    if mode == "int8_asym" and part == "vision":
        raise PackageError(f"{part}={mode} is refused: {ASYMMETRIC_VISION}.")


def save(graph: ov.Model, path: Path, weights: Weights, samples: list[dict[str, Any]] | None = None) -> None:
    """Store a plain graph in that way; `samples` are feeds of the graph, needed when `weights.calibrated`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if weights.mode not in ("fp16", "fp32"):
        graph = _compressed(graph, weights, samples)
    ov.save_model(graph, path, compress_to_fp16=weights.mode == "fp16")


def _compressed(graph: ov.Model, weights: Weights, samples: list[dict[str, Any]] | None) -> ov.Model:
    mode = nncf.CompressWeightsMode[weights.mode.upper()]
    if weights.mode.startswith("int8"):
        small = nncf.IgnoredScope(names=_smaller(graph, weights.least), validate=False)
        return nncf.compress_weights(graph, mode=mode, ignored_scope=small)
    if not weights.calibrated:
        return nncf.compress_weights(graph, mode=mode, group_size=weights.group, ratio=1.0, all_layers=True)
    return nncf.compress_weights(
        graph,
        mode=mode,
        group_size=weights.group,
        ratio=1.0,
        all_layers=True,
        awq=True,
        scale_estimation=True,
        dataset=nncf.Dataset(samples or []),
        subset_size=max(1, len(samples or [])),
    )


def _smaller(graph: ov.Model, least: int) -> list[str]:
    """Names of the operations whose kernel or matrix has fewer numbers than that."""
    kinds = {"Convolution", "GroupConvolution", "MatMul"}
    found = [node for node in graph.get_ops() if node.get_type_name() in kinds]
    shapes = [(node.get_friendly_name(), node.input(1).get_partial_shape()) for node in found]
    return [name for name, shape in shapes if shape.is_static and prod(shape.to_shape()) < least]
