"""OpenVINO: devices, compiled graphs and requests. The only owner of openvino and openvino_tokenizers."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embedding.errors import DeviceError, InferenceError, PackageError

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Shape: TypeAlias = tuple[int, ...]

DYNAMIC = -1


@dataclass(frozen=True)
class Device:
    """A device of OpenVINO that is present: name as OpenVINO spells it, full name, and version of its plugin."""

    name: str
    full_name: str
    version: str


@dataclass(frozen=True)
class TowerPlan:
    """Where one tower runs: device asked for and given, compute precision granted, and why if not as asked."""

    tower: str
    device: str
    granted_device: str
    precision: str
    reason: str = ""


@lru_cache(maxsize=1)
def _core() -> Any:
    import openvino

    return openvino.Core()


@lru_cache(maxsize=1)
def _tokenizer_core() -> Any:
    """A core of its own with the tokenizer operations: the extension stays out of the way of the towers."""
    import openvino
    import openvino_tokenizers  # noqa: F401  importing it teaches every later Core the operations

    return openvino.Core()


def versions() -> dict[str, str]:
    """Versions of OpenVINO and of its tokenizers."""
    import importlib.metadata

    import openvino

    return {
        "openvino": openvino.get_version(),
        "openvino-tokenizers": importlib.metadata.version("openvino-tokenizers"),
    }


def devices() -> tuple[Device, ...]:
    """Devices that are present. `available_devices` is the only test of presence that can be trusted."""
    core = _core()
    found = []
    for name in core.available_devices:
        try:
            full_name = str(core.get_property(name, "FULL_DEVICE_NAME"))
            version = next(iter(core.get_versions(name).values())).build_number
        except RuntimeError as error:
            full_name, version = f"answers with an error: {str(error).splitlines()[0]}", ""
        found.append(Device(name, full_name, version))
    return tuple(found)


def require_device(name: str) -> str:
    """The name when such a device can be used here; DeviceError with what exists otherwise."""
    present = [device.name for device in devices()]
    bases = {part.split(".")[0] for part in present} | set(present)
    if name in bases or name == "AUTO":
        return name
    raise DeviceError(f"There is no device {name!r} on this machine; it has {', '.join([*present, 'AUTO'])}.")


class Session:
    """One compiled graph with a request of its own: names to arrays in, names to arrays out.

    Calls from several threads wait for each other. f32 compute is asked for: EmbeddingGemma 2 overflows in f16.
    """

    def __init__(self, path: Path, device: str, reshape: Mapping[str, Shape] | None = None) -> None:
        self.path = path
        self.device = device
        self._lock = threading.Lock()
        model = _read(path)
        if reshape:
            model.reshape({name: list(shape) for name, shape in reshape.items()})
        try:
            self._compiled: Any = _core().compile_model(model, device, _properties(device))
        except RuntimeError as error:
            raise DeviceError(f"{path.name} does not compile on {device}: {_first_line(error)}") from error
        self._request: Any = self._compiled.create_infer_request()
        self.inputs: dict[str, Shape] = {port.get_any_name(): _shape(port) for port in self._compiled.inputs}
        self.outputs: tuple[str, ...] = tuple(port.get_any_name() for port in self._compiled.outputs)

    def run(self, feeds: Arrays) -> dict[str, NDArray[Any]]:
        """Infer once. Inputs that the graph does not have are left out; the answer is copied out of the request."""
        with self._lock:
            if self._request is None:
                raise InferenceError(f"The graph {self.path.name} was closed while it was asked.")
            try:
                result = self._request.infer({name: feeds[name] for name in self.inputs if name in feeds})
                return {name: np.array(result[name]) for name in self.outputs}
            except RuntimeError as error:
                raise InferenceError(f"{self.path.name} failed on {self.device}: {_first_line(error)}") from error

    def plan(self, tower: str, reason: str = "") -> TowerPlan:
        """What the compiled graph says of itself."""
        granted = self._property("EXECUTION_DEVICES")
        names = ", ".join(granted) if isinstance(granted, (list, tuple)) else str(granted or self.device)
        return TowerPlan(tower, self.device, names, _precision_name(self._property("INFERENCE_PRECISION_HINT")), reason)

    def close(self) -> None:
        """Drop request and graph: both hold memory. Waits for a running call."""
        with self._lock:
            self._request = None
            self._compiled = None

    def _property(self, name: str) -> Any:
        try:
            return self._compiled.get_property(name)
        except (RuntimeError, AttributeError):
            return ""


class TokenizerSession:
    """A converted tokenizer (`openvino_tokenizer.xml`): one text in, its ids out, on the CPU."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            compiled = _tokenizer_core().compile_model(str(path), "CPU")
        except RuntimeError as error:
            raise PackageError(
                f"The tokenizer {path.name} is damaged or of another version: {_first_line(error)}"
            ) from error
        self._request = compiled.create_infer_request()

    def encode(self, text: str) -> list[int]:
        """Token ids as the graph gives them, special tokens of its own included."""
        with self._lock:
            self._request.infer([np.array([text])])
            ids = self._request.get_tensor("input_ids").data
            return [int(token) for token in ids[0]]


def _read(path: Path) -> Any:
    try:
        return _core().read_model(str(path))
    except RuntimeError as error:
        raise PackageError(f"The graph {path.name} cannot be read: {_first_line(error)}") from error


def _properties(device: str) -> dict[str, str]:
    properties = {"PERFORMANCE_HINT": "LATENCY"}
    if device.startswith(("CPU", "GPU", "AUTO")):
        properties["INFERENCE_PRECISION_HINT"] = "f32"
    if device.startswith("CPU"):
        # On by default, it would quantise activations too; W8A8 destroys the vision tower (see the package's card).
        properties["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = "0"
    return properties


def _shape(port: Any) -> Shape:
    shape = port.get_partial_shape()
    return tuple(dim.get_length() if dim.is_static else DYNAMIC for dim in shape)


def _precision_name(value: Any) -> str:
    name = value.to_string() if hasattr(value, "to_string") else str(value)
    return {"float": "f32", "dynamic": ""}.get(name, name)


def _first_line(error: Exception) -> str:
    """The last informative line of an OpenVINO message, without source positions."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    useful = [line for line in lines if not line.startswith(("Exception from", "Check '"))]
    return (useful or lines or [type(error).__name__])[-1][:200]
