"""A torch module to an OpenVINO graph with named, dynamic inputs and outputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import openvino as ov
import torch
from torch import nn


def trace(
    module: nn.Module,
    example: Mapping[str, torch.Tensor],
    shapes: Mapping[str, Sequence[int]],
    outputs: Sequence[str],
) -> ov.Model:
    """Trace a module and give its graph the names and the dynamic shapes of the contract."""
    module.eval()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)  # what is frozen is meant to be
        graph = ov.convert_model(module, example_input=dict(example))
    by_name = {name: port for port in graph.inputs for name in port.get_names()}
    missing = sorted(set(example) - set(by_name))
    if missing:
        raise ValueError(f"The trace lost the inputs {missing}; it kept {sorted(by_name)}.")
    graph.reshape({by_name[name]: ov.PartialShape(list(shape)) for name, shape in shapes.items()})
    for name, port in by_name.items():
        if name in example:
            port.get_tensor().set_names({name})
    for name, port in zip(outputs, graph.outputs, strict=True):
        port.get_tensor().set_names({name})
    graph.validate_nodes_and_infer_types()
    return graph
