"""OpenVINO: devices, compiled graphs and requests. The only owner of openvino and openvino_tokenizers."""

from __future__ import annotations

import importlib.metadata
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embedding.errors import DeviceError, InferenceError, PackageError
from embedding.plan import Placement

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Shape: TypeAlias = tuple[int, ...]

# OpenVINO reports its import to Google Analytics through this module; without it, it uses its own empty stand-in.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]

DYNAMIC = -1


@dataclass(frozen=True)
class Options:
    """How graphs are compiled and run: folder of compiled graphs, plugins.xml, and seconds until a call is given up."""

    cache_dir: Path | None = None
    plugins: Path | None = None
    timeout: float = 600.0


@dataclass(frozen=True)
class TowerPlan:
    """Where one tower runs: device asked for and given, compute precision granted, and why if not as asked.

    `compile_ms` is what loading took, `cached` whether the compiled graph came from the cache.
    """

    tower: str
    device: str
    granted_device: str
    precision: str
    reason: str = ""
    streams: str = ""
    compile_ms: float = 0.0
    cached: bool = False


@lru_cache(maxsize=4)
def core(plugins: Path | None = None) -> Any:
    """OpenVINO's core; `plugins` names an XML file whose plugins stand in for the built-in ones."""
    import openvino

    return openvino.Core(str(plugins)) if plugins else openvino.Core()


@lru_cache(maxsize=1)
def _tokenizer_core() -> Any:
    """A core of its own with the tokenizer operations: the extension stays out of the way of the towers."""
    import openvino
    import openvino_tokenizers  # noqa: F401  importing it teaches every later Core the operations

    return openvino.Core()


def versions() -> dict[str, str]:
    """Versions of OpenVINO and of its tokenizers."""
    import openvino

    tokenizers = importlib.metadata.version("openvino-tokenizers")
    return {"openvino": openvino.get_version(), "openvino-tokenizers": tokenizers}


def library_folder() -> Path:
    """Where OpenVINO keeps its plugins."""
    import openvino

    return Path(openvino.__file__).parent / "libs"


def self_test(where: Any, name: str) -> dict[str, Any]:
    """Run a small graph on a device and compare it with NumPy; what the device says of itself (for the probe)."""
    import openvino
    from openvino import opset13 as ops

    weights = np.linspace(-1, 1, 64 * 32, dtype=np.float32).reshape(64, 32)
    rows = np.sin(np.arange(4 * 64, dtype=np.float32)).reshape(4, 64)
    source = ops.parameter([4, 64], np.float32, name="rows")
    model = openvino.Model([ops.tanh(ops.matmul(source, ops.constant(weights), False, False))], [source], "probe")
    compiled = where.compile_model(model, name, {"PERFORMANCE_HINT": "LATENCY"})
    result = compiled.create_infer_request().infer([rows])[0]
    worst = float(np.abs(result - np.tanh(rows @ weights)).max())
    if not worst < 2e-2:  # the default compute type of a device may be f16
        raise DeviceError(f"{name} computes wrongly: a small product is off by {worst:.3g}")
    version = next(iter(where.get_versions(name).values()))
    return {
        "full_name": str(_ask(where, name, "FULL_DEVICE_NAME")),
        "architecture": str(_ask(where, name, "DEVICE_ARCHITECTURE")),
        "capabilities": [str(value) for value in _ask(where, name, "OPTIMIZATION_CAPABILITIES") or ()],
        "version": str(version.build_number),
        "precision": _precision_name(_ask(compiled, None, "INFERENCE_PRECISION_HINT")),
        "streams": str(_ask(compiled, None, "NUM_STREAMS")),
    }


class Session:
    """One compiled graph with a request of its own: names to arrays in, names to arrays out.

    Calls from several threads wait for each other. A call that outlasts the limit is given up, the session is broken.
    """

    def __init__(
        self, path: Path, placement: Placement, options: Options, static: Mapping[str, Shape] | None = None
    ) -> None:
        self.path = path
        self.placement = placement
        self._timeout = options.timeout
        self._lock = threading.Lock()
        self._broken = ""
        start = time.perf_counter()
        self._compiled: Any = _compile(path, placement, options, static)
        self.compile_ms = (time.perf_counter() - start) * 1000.0
        self._request: Any = self._compiled.create_infer_request()
        self.inputs: dict[str, Shape] = {port.get_any_name(): _shape(port) for port in self._compiled.inputs}
        self.outputs: tuple[str, ...] = tuple(port.get_any_name() for port in self._compiled.outputs)

    def run(self, feeds: Arrays) -> dict[str, NDArray[Any]]:
        """Infer once. Inputs that the graph does not have are left out; the answer is copied out of the request.

        Raises InferenceError: closed, failed, or no answer within the limit.
        """
        with self._lock:
            if self._request is None:
                raise InferenceError(self._broken or f"The graph {self.path.name} was closed while it was asked.")
            try:
                self._request.start_async({name: feeds[name] for name in self.inputs if name in feeds})
                if not self._request.wait_for(int(self._timeout * 1000)):
                    self._give_up()
                return {name: np.array(self._request.get_tensor(name).data) for name in self.outputs}
            except RuntimeError as error:
                raise InferenceError(
                    f"{self.path.name} failed on {self.placement.device}: {_first_line(error)}"
                ) from error

    def plan(self) -> TowerPlan:
        """What the compiled graph says of itself."""
        granted = _ask(self._compiled, None, "EXECUTION_DEVICES")
        names = ", ".join(granted) if isinstance(granted, (list, tuple)) else str(granted or self.placement.device)
        return TowerPlan(
            tower=self.placement.tower,
            device=self.placement.asked,
            granted_device=names,
            precision=_precision_name(_ask(self._compiled, None, "INFERENCE_PRECISION_HINT")),
            reason=self.placement.reason,
            streams=str(_ask(self._compiled, None, "NUM_STREAMS")),
            compile_ms=self.compile_ms,
            cached=bool(_ask(self._compiled, None, "LOADED_FROM_CACHE")),
        )

    def close(self) -> None:
        """Drop request and graph: both hold memory. Waits for a running call."""
        with self._lock:
            self._request = None
            self._compiled = None

    def _give_up(self) -> None:
        """Leave the hanging request to itself: destroying it would wait for it. The session answers no more."""
        _ABANDONED.append((self._request, self._compiled))
        self._request = self._compiled = None
        self._broken = (
            f"{self.path.name} gave no answer on {self.placement.device} within {self._timeout:.0f} s and was given "
            "up; switch the device or the model to load it anew."
        )
        raise InferenceError(self._broken)


_ABANDONED: list[tuple[Any, Any]] = []


def _compile(path: Path, placement: Placement, options: Options, static: Mapping[str, Shape] | None) -> Any:
    where, properties = core(options.plugins), dict(placement.properties)
    if options.cache_dir is not None:
        properties["CACHE_DIR"] = str(options.cache_dir)
    try:
        model = where.read_model(str(path))
        if static:
            model.reshape({name: list(shape) for name, shape in static.items()})
    except RuntimeError as error:
        raise PackageError(f"The graph {path.name} cannot be read: {_first_line(error)}.") from error
    try:
        return where.compile_model(model, placement.device, properties)
    except RuntimeError as error:
        raise DeviceError(f"{path.name} does not compile on {placement.device}: {_first_line(error)}.") from error


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


def _shape(port: Any) -> Shape:
    shape = port.get_partial_shape()
    return tuple(dim.get_length() if dim.is_static else DYNAMIC for dim in shape)


def _ask(subject: Any, device: str | None, name: str) -> Any:
    """A property of a core's device or of a compiled graph; empty when it has none such."""
    try:
        return subject.get_property(device, name) if device else subject.get_property(name)
    except (RuntimeError, AttributeError):
        return ""


def _precision_name(value: Any) -> str:
    name = value.to_string() if hasattr(value, "to_string") else str(value)
    return {"float": "f32", "dynamic": ""}.get(name, name)


def _first_line(error: Exception) -> str:
    """The last informative line of an OpenVINO message, without source positions."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    useful = [line for line in lines if not line.startswith(("Exception from", "Check '"))]
    return (useful or lines or [type(error).__name__])[-1][:200]
