"""Devices that are not here are the CPU plugin under other names; plan, probe and failure are real."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embedding import Embedder, Modality, devices, load_embedder
from embedding.checks import compare_with_cpu, probe_inputs
from embedding.devices import cache_folder, cache_size, clear_cache, find_devices, plugin_library, sha256, use_plugin
from embedding.embedder import LoadOptions
from embedding.errors import DeviceError, InferenceError
from embedding.probe import list_devices, probe_device

PACKAGES = Path(__file__).parent.parent / "fixtures" / "packages"


@pytest.fixture(scope="module")
def cpu_plugin() -> Path:
    library = plugin_library("CPU")
    assert library is not None
    return library


@pytest.fixture(params=["GPUCPU", "NPUCPU"])
def second(request: pytest.FixtureRequest, cpu_plugin: Path, tmp_path: Path) -> tuple[str, Path]:
    """A second device and the plugins.xml that brings it."""
    return request.param, use_plugin(request.param, cpu_plugin, tmp_path)


def test_probe_tells_of_a_device_that_works() -> None:
    assert "CPU" in list_devices()
    said = probe_device("CPU")
    assert said["full_name"] and said["version"].startswith("2026")


def test_probe_of_what_is_not_there_gives_the_reason() -> None:
    with pytest.raises(DeviceError):
        probe_device("NPU" if "NPU" not in list_devices() else "NPU.7")


def test_probe_that_hangs_or_crashes_takes_nothing_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("embedding.probe._CHILD", "import time; time.sleep(60)")
    with pytest.raises(DeviceError, match="did not answer"):
        probe_device("CPU", seconds=0.5)
    monkeypatch.setattr("embedding.probe._CHILD", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(DeviceError, match=r"crashed its driver \(signal 11\)"):
        probe_device("CPU")


def test_plugin_that_is_no_library_makes_the_device_unusable(tmp_path: Path) -> None:
    library = tmp_path / "libopenvino_intel_gpu_plugin.so"
    library.write_bytes(b"not a library")
    listing = use_plugin("GPU", library, tmp_path)
    gpu = [device for device in find_devices(listing) if device.base == "GPU"]
    assert all(not device.usable and device.reason for device in gpu)
    with pytest.raises(DeviceError, match="GPU"):
        load_embedder("gemma-tiny", "int8", "GPU", PACKAGES, LoadOptions(plugins=listing))
    with pytest.raises(DeviceError, match="not a file"):
        use_plugin("GPU", tmp_path / "absent.so", tmp_path)


def test_second_device_is_found_and_answers_as_the_first(second: tuple[str, Path]) -> None:
    name, listing = second
    assert name in {device.name for device in find_devices(listing) if device.usable}
    inputs = [*probe_inputs().values(), "word " * 150, "short"]
    with (
        load_embedder("gemma-tiny", "fp32", "CPU", PACKAGES) as first,
        load_embedder("gemma-tiny", "fp32", name, PACKAGES, LoadOptions(plugins=listing)) as other,
    ):
        cosines = np.sum(first.embed(inputs).vectors * other.embed(inputs).vectors, axis=1)
        assert cosines.min() > (0.999 if name.startswith("NPU") else 0.9999)  # an NPU cannot be asked for f32
        where = {plan.tower: plan.granted_device for plan in other.plan}
        if name.startswith("NPU"):
            assert where == {"text": name, "vision": "CPU", "audio": "CPU"}
            assert all(plan.reason for plan in other.plan)
        else:
            assert set(where.values()) == {name}


def test_plugins_are_told_apart_by_their_hash(cpu_plugin: Path, tmp_path: Path) -> None:
    listing = use_plugin("GPU", cpu_plugin, tmp_path)
    assert plugin_library("GPU", listing) == cpu_plugin
    assert plugin_library("GPU") != cpu_plugin
    assert sha256(cpu_plugin) != sha256(plugin_library("GPU"))  # type: ignore[arg-type]
    assert cache_folder(tmp_path, "GPU", "int8", listing) != cache_folder(tmp_path, "GPU", "int8")
    assert cache_folder(tmp_path, "CPU", "int8") != cache_folder(tmp_path, "CPU", "fp16")


def test_second_start_uses_compiled_graphs_and_a_damaged_one_is_made_anew(tmp_path: Path) -> None:
    options = LoadOptions(cache_dir=tmp_path)
    text = probe_inputs()[Modality.TEXT]

    def start() -> tuple[list[bool], np.ndarray]:
        with load_embedder("gemma-tiny", "int8", models_dir=PACKAGES, options=options) as embedder:
            return [plan.cached for plan in embedder.plan], embedder.embed([text]).vectors[0]

    cold, expected = start()
    warm, again = start()
    assert cold == [False] * 3 and warm == [True] * 3
    np.testing.assert_allclose(again, expected, atol=1e-6)
    for blob in tmp_path.rglob("*.blob"):
        content = blob.read_bytes()
        blob.write_bytes(content[: len(content) // 2])
    _, repaired = start()
    np.testing.assert_allclose(repaired, expected, atol=1e-6)
    assert start()[0] == [True] * 3
    assert clear_cache(tmp_path) > 0 and cache_size(tmp_path) == 0


def test_call_that_hangs_is_given_up_and_the_session_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with load_embedder("gemma-tiny", "int8", models_dir=PACKAGES) as embedder:
        session = embedder._sessions["text"]
        monkeypatch.setattr(session, "_timeout", 0.0)
        long = "word " * 1_500
        first = embedder.embed([long]).failures[0].reason
        assert "gave no answer on CPU" in first and "switch" in first
        monkeypatch.setattr(session, "_timeout", 60.0)
        assert embedder.embed(["short"]).failures[0].reason == first


def test_devices_module_needs_no_openvino_of_its_own() -> None:
    assert "openvino" not in vars(devices)


def test_device_that_computes_wrongly_is_caught(cpu_plugin: Path, tmp_path: Path) -> None:
    """A wrong result is put into the vision tower of a second device; only the comparison with the CPU can see it."""
    listing = use_plugin("GPUCPU", cpu_plugin, tmp_path)

    def on_cpu() -> Embedder:
        return load_embedder("gemma-tiny", "fp32", "CPU", PACKAGES)

    with load_embedder("gemma-tiny", "fp32", "GPUCPU", PACKAGES, LoadOptions(plugins=listing)) as other:
        compare_with_cpu(other, on_cpu)
        session = other._sessions["vision"]
        right = session.run
        session.run = lambda feeds: {name: rows[::-1] * -1.0 for name, rows in right(feeds).items()}  # type: ignore
        with pytest.raises(InferenceError, match=r"picture tower computes wrongly on GPUCPU: cosine"):
            compare_with_cpu(other, on_cpu)
