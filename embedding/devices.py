"""Devices of this machine, each tried in a child process, and the plugins they come from."""

from __future__ import annotations

import hashlib
import shutil
from functools import lru_cache
from pathlib import Path
from xml.sax.saxutils import quoteattr

from embedding import runtime
from embedding.errors import DeviceError
from embedding.plan import Device
from embedding.probe import list_devices, probe_device

_LIBRARIES = {
    "CPU": "libopenvino_intel_cpu_plugin",
    "GPU": "libopenvino_intel_gpu_plugin",
    "NPU": "libopenvino_intel_npu_plugin",
}


@lru_cache(maxsize=4)
def find_devices(plugins: Path | None = None) -> tuple[Device, ...]:
    """Every device that is present, usable or with the reason why not. Takes a second or more; the answer is kept."""
    return tuple(_examine(name, plugins) for name in list_devices(plugins))


def known_devices(name: str, plugins: Path | None = None) -> tuple[Device, ...]:
    """What must be known to use a device of that name: the CPU is always there and needs no probe."""
    return (Device("CPU"),) if name == "CPU" else find_devices(plugins)


def _examine(name: str, plugins: Path | None) -> Device:
    try:
        said = probe_device(name, plugins)
    except DeviceError as error:
        return Device(name, reason=str(error))
    return Device(
        name,
        said["full_name"],
        said["version"],
        tuple(said["capabilities"]),
        said["precision"],
        said["streams"],
        said["architecture"],
    )


def use_plugin(device: str, library: Path, folder: Path) -> Path:
    """Write a plugins.xml in `folder` that puts another library in the place of a device's plugin; its path.

    `register_plugin` cannot do that for a name that is taken. DeviceError when the library is no file.
    """
    if not library.is_file():
        raise DeviceError(f"The plugin {library} for {device} is not a file; unset its variable or correct the path.")
    folder.mkdir(parents=True, exist_ok=True)
    listing = folder / f"plugins-{device.lower()}-{sha256(library)[:12]}.xml"
    location = quoteattr(str(library.resolve()))
    text = f"<ie><plugins><plugin name={quoteattr(device)} location={location}/></plugins></ie>\n"
    if not listing.is_file() or listing.read_text(encoding="utf-8") != text:
        listing.write_text(text, encoding="utf-8")
    return listing


def plugin_library(device: str, plugins: Path | None = None) -> Path | None:
    """The library behind a device: the one of plugins.xml if it names the device, else the wheel's."""
    import xml.etree.ElementTree as ElementTree

    base = device.split(".")[0].split(":")[0]
    if plugins is not None:
        for entry in ElementTree.parse(plugins).getroot().iter("plugin"):
            if entry.get("name") == base:
                return Path(entry.get("location", ""))
    stem = _LIBRARIES.get(base, "libopenvino_auto_plugin" if base == "AUTO" else "")
    found = sorted(runtime.library_folder().glob(f"{stem}*")) if stem else []
    return found[0] if found else None


@lru_cache(maxsize=16)
def sha256(library: Path) -> str:
    """Hash of a plugin: two builds of one commit have the same version, so only this tells them apart."""
    with library.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def cache_folder(root: Path, device: str, precision: str, plugins: Path | None = None) -> Path | None:
    """Folder of compiled graphs that only this OpenVINO, these plugins, this device and this precision may share.

    None when it cannot be made or has a name that OpenVINO cannot take: the app then works without a cache.

    OpenVINO adds the graph, its shapes and the properties to the name of each file.
    """
    library = plugin_library(device, plugins)
    build = runtime.versions()["openvino"].replace("/", "_")[:40]
    plugin = sha256(library)[:12] if library else "unknown"
    folder = root / build / f"{device.replace(':', '_').replace(',', '_')}-{plugin}-{precision}"
    try:
        str(folder).encode("utf-8")
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, UnicodeEncodeError):
        return None
    return folder


def cache_size(root: Path) -> int:
    """Bytes of all compiled graphs."""
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) if root.is_dir() else 0


def clear_cache(root: Path) -> int:
    """Remove all compiled graphs; the bytes that were freed."""
    size = cache_size(root)
    shutil.rmtree(root, ignore_errors=True)
    return size - cache_size(root)
