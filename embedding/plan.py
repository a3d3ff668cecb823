"""Which tower runs on which device, with which properties and why: rules over what is present, nothing else.

Sources: model-facts of the project (published card, Intel's GME guide) for every rule that refuses or moves a tower.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from embedding.errors import DeviceError

NPU_TEXT_TOKENS = 128
"""The one size at which the text tower compiles on an NPU: batch 1, this many tokens; longer texts go to the CPU."""


class Performance(StrEnum):
    """What a device is asked to be good at: one answer soon, or many at once."""

    LATENCY = "LATENCY"
    THROUGHPUT = "THROUGHPUT"


@dataclass(frozen=True)
class Device:
    """A device as its probe found it; `reason` says why it cannot be used, if it cannot."""

    name: str
    full_name: str = ""
    version: str = ""
    capabilities: tuple[str, ...] = ()
    precision: str = ""
    streams: str = ""
    architecture: str = ""
    reason: str = ""

    @property
    def usable(self) -> bool:
        """True when the probe computed the right thing on it."""
        return not self.reason

    @property
    def base(self) -> str:
        """Kind of device: GPU for GPU.1."""
        return self.name.split(".")[0]


@dataclass(frozen=True)
class Placement:
    """Where one tower goes: device, properties of the compile call, static sizes if any, and why not as asked."""

    tower: str
    asked: str
    device: str
    properties: Mapping[str, str]
    static_tokens: int | None = None
    static_patches: bool = False
    fallback: Placement | None = None
    reason: str = ""


_NOT_ON_NPU = "the {} tower does not compile or answers wrongly on an NPU"

# Integrated GPUs of Core Ultra Series 3 (Panther Lake): several streams can hang visual inference for ever.
_HANGS_WITH_STREAMS = (re.compile(r"panther\s*lake", re.I), re.compile(r"\bPTL\b"), re.compile(r"\bXe3\b", re.I))
_ARCHITECTURES_XE3 = re.compile(r"v3[0-2]\.|\bxe3\b", re.I)


def hangs_with_streams(device: Device) -> bool:
    """True for the integrated GPUs on which THROUGHPUT mode can hang."""
    texts = f"{device.full_name} {device.architecture}"
    return device.base.startswith("GPU") and (
        any(pattern.search(texts) for pattern in _HANGS_WITH_STREAMS)
        or _ARCHITECTURES_XE3.search(device.architecture) is not None
    )


def auto_device(devices: Sequence[Device]) -> str:
    """AUTO over what exists and works: GPUs before the CPU, no NPU (it runs only one of three towers)."""
    names = [device.name for device in devices if device.usable and device.base != "NPU" and device.base != "AUTO"]
    order = sorted(names, key=lambda name: (not name.startswith("GPU"), name))
    return f"AUTO:{','.join(order)}"


def check_choice(name: str, devices: Sequence[Device], performance: Performance = Performance.LATENCY) -> None:
    """DeviceError with the reason when this device, or this mode on it, cannot be chosen."""
    if name == "AUTO":
        return
    device = next((device for device in devices if name in (device.name, device.base)), None)
    if device is None:
        present = ", ".join([*(device.name for device in devices if device.usable), "AUTO"])
        raise DeviceError(f"There is no device {name!r} on this machine; it has {present}.")
    if not device.usable:
        raise DeviceError(f"{name} cannot be used: {device.reason}.")
    if performance is Performance.THROUGHPUT and hangs_with_streams(device):
        raise DeviceError(
            f"THROUGHPUT is refused on {device.full_name}: with several streams its driver can hang in visual "
            "inference. Use LATENCY."
        )


def place(
    towers: Sequence[str], name: str, devices: Sequence[Device], performance: Performance = Performance.LATENCY
) -> tuple[Placement, ...]:
    """One placement for each tower of a model on the chosen device."""
    check_choice(name, devices, performance)
    return tuple(_place_one(tower, name, devices, performance) for tower in towers)


def _place_one(tower: str, name: str, devices: Sequence[Device], performance: Performance) -> Placement:
    if name.startswith("NPU"):
        on_cpu = Placement(tower, name, "CPU", _properties("CPU", performance), reason=_NOT_ON_NPU.format(tower))
        if tower != "text":
            return on_cpu
        properties, reason = _properties(name, performance), f"up to {NPU_TEXT_TOKENS} tokens; longer texts on the CPU"
        return Placement(tower, name, name, properties, NPU_TEXT_TOKENS, fallback=on_cpu, reason=reason)
    device = auto_device(devices) if name == "AUTO" else name
    # Dynamic numbers of patches give silently wrong vision vectors on GPUs, so they get one static size.
    static_patches = "GPU" in device and tower == "vision"
    return Placement(tower, name, device, _properties(device, performance), static_patches=static_patches)


def _properties(device: str, performance: Performance) -> dict[str, str]:
    properties = {"PERFORMANCE_HINT": str(performance)}
    if "NPU" not in device:
        # The default of GPUs is f16, in which EmbeddingGemma 2 overflows.
        properties["INFERENCE_PRECISION_HINT"] = "f32"
    if performance is Performance.LATENCY and device.split(".")[0] in {"CPU", "GPU"}:
        properties["NUM_STREAMS"] = "1"
    if device == "CPU":
        # On by default, it would quantise activations too; W8A8 destroys the vision tower (see the package's card).
        properties["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = "0"
    return properties
