"""Write a package: three graphs, configs and tokenizer in the layout that `embedding` reads."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import nncf
import openvino as ov
from tokenizers import Tokenizer
from transformers import Gemma4AudioFeatureExtractor

from embedding.export.towers_gemma import Model, audio_graph, text_graph, vision_graph
from embedding.types import Precision

INT8_FILES = {"text": "text_int8.xml", "vision": "vision_int8.xml", "audio": "audio_int8.xml"}
FLOAT_FILES = {"text": "openvino/model.xml", "vision": "openvino/vision_model.xml", "audio": "openvino/audio_model.xml"}
FEATURE_KEYS = (
    "feature_size", "sampling_rate", "frame_length", "hop_length", "fft_length", "min_frequency", "max_frequency",
    "mel_floor",
)  # fmt: skip


@dataclass(frozen=True)
class About:
    """What `triptych.json` says of the package, and the picture budget of its processor."""

    name: str
    version: str = "1"
    description: str = ""
    licence: str = "Apache-2.0"
    matryoshka: tuple[int, ...] = ()
    max_soft_tokens: int = 280


def write_package(model: Model, tokenizer: Tokenizer, out_dir: Path, precision: Precision, about: About) -> Path:
    """Export all towers of `model` to `out_dir`, whole or not at all; an older package there is replaced at the end."""
    out_dir.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{out_dir.name}-", dir=out_dir.parent))
    try:
        staging.chmod(0o755)  # mkdtemp makes it private; a package is for everybody who may read the folder
        _write_graphs(model, staging, precision)
        tokenizer.save(str(staging / "tokenizer.json"))
        _write_json(staging / "config.json", json.loads(model.config.to_json_string(use_diff=False)))
        _write_json(staging / "processor_config.json", processor_config(model, about.max_soft_tokens))
        _write_json(staging / "triptych.json", _manifest(precision, about))
        _replace(staging, out_dir)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return out_dir


def _write_graphs(model: Model, folder: Path, precision: Precision) -> None:
    """Trace, compress and save one tower after the other, so that only one graph is in memory."""
    makers: dict[str, Callable[[Model], ov.Model]] = {
        "text": text_graph,
        "vision": vision_graph,
        "audio": audio_graph,
    }
    files = INT8_FILES if precision is Precision.INT8 else FLOAT_FILES
    for tower, make in makers.items():
        path = folder / files[tower]
        path.parent.mkdir(exist_ok=True)
        graph = make(model)
        if precision is Precision.INT8:
            # Symmetric per channel, weights only: the asymmetric mode destroys the vision tower.
            graph = nncf.compress_weights(graph, mode=nncf.CompressWeightsMode.INT8_SYM)
        elif precision not in (Precision.FP16, Precision.FP32):
            raise ValueError(f"A package is written as fp32, fp16 or int8, not as {precision}.")
        ov.save_model(graph, path, compress_to_fp16=precision is Precision.FP16)


def processor_config(model: Model, max_soft_tokens: int) -> dict[str, Any]:
    """Settings of the picture and sound preprocessing, in the layout of transformers' processor."""
    vision = model.config.vision_config
    features = Gemma4AudioFeatureExtractor().to_dict()
    return {
        "processor_class": "EmbeddingGemma2Processor",
        "image_processor": {
            "image_processor_type": "Gemma4ImageProcessor",
            "patch_size": vision.patch_size,
            "pooling_kernel_size": vision.pooling_kernel_size,
            "max_soft_tokens": max_soft_tokens,
        },
        "feature_extractor": {
            "feature_extractor_type": "Gemma4AudioFeatureExtractor",
            **{key: float(features[key]) if key == "mel_floor" else features[key] for key in FEATURE_KEYS},
        },
    }


def _manifest(precision: Precision, about: About) -> dict[str, Any]:
    """Content of `triptych.json`."""
    words = asdict(about)
    del words["max_soft_tokens"]
    return {"family": "gemma", "precision": str(precision), **words}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    """One key a line, so that a change can be read."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _replace(staging: Path, out_dir: Path) -> None:
    """Move the finished package into place."""
    if out_dir.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{out_dir.name}-old-", dir=out_dir.parent))
        out_dir.rename(old / "package")
        try:
            staging.rename(out_dir)
        except OSError:
            (old / "package").rename(out_dir)
            raise
        finally:
            shutil.rmtree(old)
    else:
        staging.rename(out_dir)
