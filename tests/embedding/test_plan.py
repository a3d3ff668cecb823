"""Rules of placement by table: which tower goes where, and what is refused."""

from __future__ import annotations

import pytest

from embedding.errors import DeviceError
from embedding.plan import Device, Performance, auto_device, check_choice, hangs_with_streams, place

CPU = Device("CPU", "Some CPU")
GPU = Device("GPU", "Intel(R) Arc(TM) A770 Graphics (dGPU)", architecture="GPU: vendor=0x8086 arch=v12.55.8")
NPU = Device("NPU", "Intel(R) AI Boost")
BROKEN = Device("GPU.1", reason="GPU.1 crashed its driver (signal 11)")
TOWERS = ("text", "vision", "audio")


def test_cpu_runs_everything_in_f32_without_quantised_activations() -> None:
    for placement in place(TOWERS, "CPU", [CPU]):
        assert placement.device == "CPU" and not placement.reason
        assert placement.properties["INFERENCE_PRECISION_HINT"] == "f32"
        assert placement.properties["DYNAMIC_QUANTIZATION_GROUP_SIZE"] == "0"


def test_gpu_asks_for_f32_one_stream_and_static_patches() -> None:
    text, vision, audio = place(TOWERS, "GPU", [CPU, GPU])
    for placement in (text, vision, audio):
        assert placement.properties["INFERENCE_PRECISION_HINT"] == "f32"
        assert placement.properties["NUM_STREAMS"] == "1" and placement.properties["PERFORMANCE_HINT"] == "LATENCY"
    assert vision.static_patches and not text.static_patches and not audio.static_patches


def test_npu_takes_short_texts_only_and_says_so() -> None:
    text, vision, audio = place(TOWERS, "NPU", [CPU, NPU])
    assert (text.device, text.static_tokens) == ("NPU", 128)
    assert text.fallback is not None and text.fallback.device == "CPU"
    for placement in (vision, audio):
        assert placement.device == "CPU" and "NPU" in placement.reason and placement.tower in placement.reason


def test_auto_is_built_from_what_works() -> None:
    assert auto_device([CPU]) == "AUTO:CPU"
    assert auto_device([CPU, GPU, NPU]) == "AUTO:GPU,CPU"
    assert auto_device([CPU, BROKEN, NPU]) == "AUTO:CPU"
    assert place(["text"], "AUTO", [CPU, BROKEN])[0].device == "AUTO:CPU"


@pytest.mark.parametrize(
    ("name", "words"),
    [("gpu", "no device 'gpu'.*it has CPU, AUTO"), ("NPU", "no device 'NPU'"), ("GPU.1", "crashed its driver")],
)
def test_what_cannot_be_chosen_is_refused_with_the_reason(name: str, words: str) -> None:
    with pytest.raises(DeviceError, match=words):
        check_choice(name, [CPU, BROKEN])


@pytest.mark.parametrize(
    ("full_name", "architecture", "hangs"),
    [
        ("Intel(R) Graphics [Panther Lake] (iGPU)", "", True),
        ("Intel(R) Arc(TM) B390 GPU (iGPU)", "GPU: vendor=0x8086 arch=v30.3.0", True),
        ("Intel(R) Graphics (PTL) (iGPU)", "", True),
        ("Intel(R) Arc(TM) 140V GPU (16GB) (iGPU)", "GPU: vendor=0x8086 arch=v20.4.4", False),
        ("Intel(R) Arc(TM) A770 Graphics (dGPU)", "GPU: vendor=0x8086 arch=v12.55.8", False),
        ("Intel(R) UHD Graphics 770 (iGPU)", "GPU: vendor=0x8086 arch=v12.2.0", False),
        ("Intel(R) Arc(TM) B580 Graphics (dGPU)", "GPU: vendor=0x8086 arch=v20.1.4", False),
    ],
)
def test_throughput_is_refused_where_it_can_hang(full_name: str, architecture: str, hangs: bool) -> None:
    device = Device("GPU", full_name, architecture=architecture)
    assert hangs_with_streams(device) is hangs
    if hangs:
        with pytest.raises(DeviceError, match="THROUGHPUT is refused"):
            place(TOWERS, "GPU", [CPU, device], Performance.THROUGHPUT)
        assert place(TOWERS, "GPU", [CPU, device])[0].device == "GPU"
    else:
        assert (
            place(TOWERS, "GPU", [CPU, device], Performance.THROUGHPUT)[0].properties["PERFORMANCE_HINT"]
            == "THROUGHPUT"
        )


def test_cpu_is_never_refused_throughput() -> None:
    assert not hangs_with_streams(Device("CPU", "Intel(R) Core(TM) Ultra X9 388H (Panther Lake)"))
