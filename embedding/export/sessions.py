"""Graphs run as they come, for the exporter: no device plan, no cache, f32 compute on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray


class GraphSession:
    """One compiled graph: names to arrays in, names to arrays out."""

    def __init__(self, path: Path) -> None:
        settings = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
        self._compiled = ov.Core().compile_model(str(path), "CPU", settings)
        self._request = self._compiled.create_infer_request()
        self._outputs = [port.get_any_name() for port in self._compiled.outputs]
        self.inputs: dict[str, tuple[int, ...]] = {
            port.get_any_name(): tuple(size.get_length() if size.is_static else -1 for size in port.get_partial_shape())
            for port in self._compiled.inputs
        }

    def run(self, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Infer once; the answer is copied out of the request."""
        result = self._request.infer({name: feeds[name] for name in self.inputs if name in feeds})
        return {name: np.array(result[name]) for name in self._outputs}


class Recorder:
    """Stands for a graph: keeps what it is fed, and answers with ones."""

    def __init__(self, output: str, dim: int, inputs: Mapping[str, tuple[int, ...]] | None = None) -> None:
        self.inputs = dict(inputs or {})
        self.feeds: list[dict[str, NDArray[Any]]] = []
        self._output, self._dim = output, dim

    def run(self, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Keep the feeds."""
        self.feeds.append({name: np.array(value) for name, value in feeds.items()})
        rows = len(next(iter(feeds.values())))
        return {self._output: np.ones((rows, self._dim), np.float32)}
