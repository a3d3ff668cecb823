"""Packaging: trace the towers, store them as INT8 or fp16, and write the configuration of the package."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from math import prod
from pathlib import Path

import nncf
import openvino as ov
import torch
from tokenizers import Tokenizer

from tools.train_nano.text_model import Ids, TextGraph
from tools.train_nano.text_train import CONTROL, DIM, load_tower
from tools.train_nano.vision_model import PATCH, Backbone, VisionGraph
from tools.train_nano.vision_train import load_head

POOL, SOFT_TOKENS = 2, 49
SMALL_KERNEL = 40_000
VERSION = "1"
LICENCE = "Apache-2.0 (parts: see NOTICE)"


@dataclass(frozen=True)
class Layout:
    """Where the graphs of a precision lie in its package."""

    precision: str
    text: str
    vision: str
    audio: str


INT8 = Layout("int8", "text_int8.xml", "vision_int8.xml", "audio_int8.xml")
FP16 = Layout("fp16", "openvino/model.xml", "openvino/vision_model.xml", "openvino/audio_model.xml")


def trace_text(work: Path) -> ov.Model:
    """The text tower behind its contract, f32."""
    graph = TextGraph(load_tower(work / "text"), Ids()).eval()
    ids = torch.tensor([[2, 4, 3, 3, 5, 40, 1], [2, 7, 6, 8, 50, 60, 1]])
    example = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "image_features": torch.randn(2, DIM),
        "audio_features": torch.randn(1, DIM),
    }
    model = ov.convert_model(graph, example_input=example)
    shapes = {name: [-1, -1] if name in ("input_ids", "attention_mask") else [-1, DIM] for name in example}
    return _named(model, shapes, "sentence_embedding")


def trace_vision(work: Path) -> ov.Model:
    """The vision tower behind its contract, f32."""
    graph = VisionGraph(Backbone(work), load_head(work)).eval()
    y, x = torch.meshgrid(torch.arange(4), torch.arange(6), indexing="ij")
    example = {
        "pixel_values": torch.rand(1, 24, 3 * PATCH * PATCH),
        "pixel_position_ids": torch.stack([x.flatten(), y.flatten()], -1)[None],
    }
    model = ov.convert_model(graph, example_input=example)
    shapes = {"pixel_values": [1, -1, 3 * PATCH * PATCH], "pixel_position_ids": [1, -1, 2]}
    return _named(model, shapes, "image_features")


def _named(model: ov.Model, shapes: dict[str, list[int]], output: str) -> ov.Model:
    """The graph with these shapes of its inputs, and this name of its output."""
    for given in model.inputs:
        name = next(known for known in shapes if known in given.get_names())
        given.get_tensor().set_names({name})
        given.get_node().set_friendly_name(name)
    model.reshape({name: ov.PartialShape(shape) for name, shape in shapes.items()})
    model.outputs[0].get_tensor().set_names({output})
    return model


def store(model: ov.Model, path: Path, precision: str) -> None:
    """Write a graph: INT8_SYM weights per channel and fp16 for the rest, or all fp16; put in place when it is whole.

    Files are never overwritten: an application that is running maps them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.stem}_new.xml")
    ov.save_model(model, partial, compress_to_fp16=True)
    if precision == "int8":
        # Convolutions by channel and small ones are a tenth of the weights and nine tenths of the error: all in INT8
        # brings the least cosine of the vision tower from 0.997 to 0.93.
        half = ov.Core().read_model(partial, config={"ENABLE_MMAP": False})
        scope = nncf.IgnoredScope(types=["GroupConvolution"], names=_small_convolutions(half), validate=False)
        small = nncf.compress_weights(half, mode=nncf.CompressWeightsMode.INT8_SYM, ignored_scope=scope)
        ov.save_model(small, partial, compress_to_fp16=False)
    for suffix in (".bin", ".xml"):
        partial.with_suffix(suffix).replace(path.with_suffix(suffix))


def _small_convolutions(model: ov.Model) -> list[str]:
    kernels = [node for node in model.get_ops() if node.get_type_name() == "Convolution"]
    return [node.get_friendly_name() for node in kernels if prod(node.input(1).get_shape()) < SMALL_KERNEL]


def write_package(work: Path, folder: Path, layout: Layout) -> None:
    """Write graphs, tokenizer and configuration into the folder; the audio graph comes from its own training."""
    store(trace_text(work), folder / layout.text, layout.precision)
    store(trace_vision(work), folder / layout.vision, layout.precision)
    for suffix in (".xml", ".bin"):
        made = work / "audio" / "package" / f"audio_{layout.precision}{suffix}"
        if made.is_file():
            _copy(made, (folder / layout.audio).with_suffix(suffix))
    _copy(work / "text" / "tokenizer.json", folder / "tokenizer.json")
    _write(folder / "config.json", model_config(work))
    _write(folder / "processor_config.json", processor_config())
    about = {
        "name": "nano",
        "family": "gemma",
        "version": VERSION,
        "precision": layout.precision,
        "matryoshka": [256, 128],
        "description": "A small model of everyday things to try the app offline; no replacement for EmbeddingGemma 2.",
        "licence": LICENCE,
    }
    _write(folder / "triptych.json", about)


def model_config(work: Path) -> dict[str, object]:
    """`config.json` in the layout of transformers' EmbeddingGemma2Config."""
    ids = Ids()
    size = Tokenizer.from_file(str(work / "text" / "tokenizer.json")).get_vocab_size()
    return {
        "model_type": "embedding_gemma2",
        "text_config": {
            "embedding_dim": DIM,
            "vocab_size": size,
            "max_position_embeddings": 512,
            "pad_token_id": ids.pad,
            "eos_token_id": ids.eos,
            "bos_token_id": ids.bos,
        },
        "image_token_id": ids.image,
        "boi_token_id": ids.begin_image,
        "eoi_token_id": ids.end_image,
        "audio_token_id": ids.audio,
        "boa_token_id": ids.begin_audio,
        "eoa_token_index": ids.end_audio,
        "video_token_id": ids.video,
    }


def processor_config() -> dict[str, object]:
    """`processor_config.json` in the layout of transformers' processor: small pictures, the reference's log-mel."""
    return {
        "image_processor": {"patch_size": PATCH, "max_soft_tokens": SOFT_TOKENS, "pooling_kernel_size": POOL},
        "feature_extractor": {
            "sampling_rate": 16_000,
            "feature_size": 128,
            "frame_length": 320,
            "hop_length": 160,
            "fft_length": 512,
            "min_frequency": 0.0,
            "max_frequency": 8000.0,
            "mel_floor": 0.001,
        },
    }


def _copy(source: Path, target: Path) -> None:
    partial = target.with_name(f"{target.name}.part")
    shutil.copyfile(source, partial)
    partial.replace(target)


def _write(path: Path, content: dict[str, object]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def check_control_ids() -> None:
    """The ids of the configuration are those of the tokenizer's control tokens."""
    ids = Ids()
    frame, image = (ids.pad, ids.eos, ids.bos), (ids.image, ids.begin_image, ids.end_image)
    audio = (ids.audio, ids.begin_audio, ids.end_audio)
    if (*frame, *image, *audio, ids.video) != tuple(range(len(CONTROL))):
        raise ValueError("Control ids and the tokenizer's control tokens differ.")
