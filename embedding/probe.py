"""Try one device in a process of its own: a driver that crashes then takes nothing along.

The child gets `[--plugins FILE] [DEVICE]`: without a device it prints the names of those that are present, with one
what it says of itself after a real inference; one JSON document on standard output either way.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from embedding.errors import DeviceError

ROOT = Path(__file__).resolve().parent.parent
_CHILD = "import sys; from embedding.probe import main; sys.exit(main(sys.argv[1:]))"
LIST_SECONDS = 60.0
PROBE_SECONDS = 120.0


def list_devices(plugins: Path | None = None) -> list[str]:
    """Names of the devices that are present. DeviceError when OpenVINO itself does not come up."""
    return list(_ask([], plugins, LIST_SECONDS)["devices"])


def probe_device(name: str, plugins: Path | None = None, seconds: float = PROBE_SECONDS) -> dict[str, Any]:
    """What a device says of itself and computes; DeviceError with the reason when it fails."""
    return _ask([name], plugins, seconds)


def _ask(arguments: list[str], plugins: Path | None, seconds: float) -> dict[str, Any]:
    listing = ["--plugins", str(plugins)] if plugins else []
    command = [sys.executable, "-c", _CHILD, *listing, *arguments]
    what = arguments[0] if arguments else "OpenVINO"
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=seconds, cwd=ROOT, check=False)
    except subprocess.TimeoutExpired as error:
        raise DeviceError(f"{what} did not answer within {seconds:.0f} s") from error
    if result.returncode < 0:
        raise DeviceError(f"{what} crashed its driver (signal {-result.returncode})")
    try:
        answer: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    except (ValueError, IndexError) as error:
        last = (result.stderr.strip().splitlines() or ["no answer"])[-1]
        raise DeviceError(f"{what} failed with exit code {result.returncode}: {last[:200]}") from error
    if "error" in answer:
        raise DeviceError(str(answer["error"]))
    return answer


def main(arguments: list[str]) -> int:
    """The child's side."""
    plugins = None
    if arguments[:1] == ["--plugins"]:
        plugins, arguments = Path(arguments[1]), arguments[2:]
    from embedding import runtime

    try:
        core = runtime.core(plugins)
        answer = runtime.self_test(core, arguments[0]) if arguments else {"devices": list(core.available_devices)}
    except (RuntimeError, DeviceError) as error:
        answer = {"error": str(error).strip().splitlines()[-1]}
    print(json.dumps(answer))
    return 0
