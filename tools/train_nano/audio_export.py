"""The audio tower as one OpenVINO graph with the contract's inputs and output, in fp16 and INT8_SYM weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tools.train_nano.audio_encoder import SpeechEncoder
from tools.train_nano.audio_features import pooled
from tools.train_nano.audio_head import SoundHead, SpeechHead
from tools.train_nano.audio_mel import BINS


class AudioGraph(nn.Module):
    """`input_features` [1, frames, 128] and `input_features_mask` [1, frames] -> `audio_features` [1, dim].

    One soft token: a weighted sum of what the speech head and the sound head say, of unit length before the sum.
    """

    def __init__(self, encoder: SpeechEncoder, speech: SpeechHead, sound: SoundHead | None) -> None:
        super().__init__()
        self.encoder, self.speech, self.sound = encoder, speech, sound

    def forward(self, input_features: Tensor, input_features_mask: Tensor) -> Tensor:
        tokens, statistics = pooled(self.encoder(input_features, input_features_mask))
        spoken = functional.normalize(self.speech(tokens, torch.ones_like(tokens[:, :, 0])), dim=-1)
        if self.sound is None:
            return spoken
        heard, share = self.sound(statistics)
        return functional.normalize(spoken * (1.0 - share) + functional.normalize(heard, dim=-1) * share, dim=-1)


def convert(graph: AudioGraph) -> ov.Model:
    """Trace the graph and give it the contract's names and open length."""
    example = (torch.randn(1, 120, BINS), torch.ones(1, 120, dtype=torch.bool))
    model = ov.convert_model(graph.eval(), example_input=example)
    model.reshape({model.inputs[0]: [1, -1, BINS], model.inputs[1]: [1, -1]})
    for port, name in zip(model.inputs, ("input_features", "input_features_mask"), strict=True):
        port.get_tensor().set_names({name})
    model.outputs[0].get_tensor().set_names({"audio_features"})
    return model


def save(graph: AudioGraph, folder: Path) -> dict[str, float]:
    """Write audio_fp16 and audio_int8 (.xml, .bin) -> sizes in MB."""
    import nncf

    folder.mkdir(parents=True, exist_ok=True)
    ov.save_model(convert(graph), folder / "audio_fp16.xml", compress_to_fp16=True)
    model = ov.Core().read_model(folder / "audio_fp16.xml")  # what stays exact is then fp16, not f32
    exact = [op.get_friendly_name() for op in model.get_ordered_ops() if _stays_exact(op)]
    kept = nncf.IgnoredScope(names=exact)
    small = nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM, ignored_scope=kept)
    # weights only: activations stay f32, also where a plugin would quantise them on the fly
    small.set_rt_info("0", ["runtime_options", "DYNAMIC_QUANTIZATION_GROUP_SIZE"])
    ov.save_model(small, folder / "audio_int8.xml", compress_to_fp16=True)
    names = ("audio_fp16.bin", "audio_int8.bin", "audio_int8.xml")
    return {name: round((folder / name).stat().st_size / 1e6, 3) for name in names}


def _stays_exact(op: ov.Node) -> bool:
    """The map between mel scales, the first convolution and the first attention: little weight, much effect."""
    name = op.get_friendly_name()
    if op.get_type_name() == "Convolution":
        return "encoder.conv1" in name
    map_of_mel = name.startswith("__module.encoder/aten::matmul")
    return op.get_type_name() == "MatMul" and (map_of_mel or "blocks.0.qkv" in name or "blocks.0.out" in name)


class Tower:
    """A compiled audio graph: mel and mask in, unit vector [dim] out."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
        self.request = ov.Core().compile_model(str(path), "CPU", settings).create_infer_request()

    def __call__(self, mel: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
        self.request.infer({"input_features": mel, "input_features_mask": mask})
        rows: NDArray[np.float32] = self.request.get_output_tensor(0).data.sum(0)
        return rows / np.linalg.norm(rows)
