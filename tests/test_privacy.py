"""Nothing leaves the machine: the app starts, indexes and answers without asking any other address."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Loaded by every Python that starts below: names looked up and addresses connected to, loopback left out.
WITNESS = """
import os, socket

def note(*what):
    host = str(what[-1][0] if isinstance(what[-1], tuple) else what[-1])
    if host not in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "None", ""):
        with open(os.environ["WITNESS"], "a") as log:
            log.write(repr(what) + "\\n")
        raise OSError("the test allows no network")

connect, look_up = socket.socket.connect, socket.getaddrinfo

def watched_connect(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6):
        note("connect", address)
    return connect(self, address)

def watched_look_up(host, *more, **named):
    note("look up", host)
    return look_up(host, *more, **named)

socket.socket.connect, socket.getaddrinfo = watched_connect, watched_look_up
"""


@dataclass(frozen=True)
class Place:
    """A home folder, a data folder, the log of the witness, and the environment of a process."""

    home: Path
    data: Path
    log: Path
    environment: dict[str, str]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for name in ("home", "data", "site"):
        (tmp_path / name).mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(WITNESS)
    settings = {
        "HOME": str(tmp_path / "home"),
        "WITNESS": str(tmp_path / "log"),
        "PYTHONPATH": str(tmp_path / "site"),
        "TRIPTYCH_DATA_DIR": str(tmp_path / "data"),
    }
    proxies = {name: "" for name in os.environ if name.lower().endswith("_proxy")}
    return Place(tmp_path / "home", tmp_path / "data", tmp_path / "log", {**os.environ, **proxies, **settings})


@pytest.fixture
def address(place: Place) -> Iterator[str]:
    """The served page, on a free port."""
    command = [sys.executable, "app.py", "--port", "0", "--no-samples"]
    with subprocess.Popen(command, cwd=ROOT, env=place.environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            yield next(line.split()[-1] for line in lines if "listens on http://" in line)
        finally:
            process.terminate()
            process.wait(timeout=30)


def asked(place: Place) -> list[str]:
    return place.log.read_text().splitlines() if place.log.exists() else []


def test_witness_sees_what_leaves(place: Place) -> None:
    code = "import urllib.request as r\ntry: r.urlopen('http://192.0.2.1/', timeout=1)\nexcept OSError: pass"
    subprocess.run([sys.executable, "-c", code], env=place.environment, check=True, timeout=30)
    assert len(asked(place)) == 1 and "192.0.2.1" in asked(place)[0]


def test_commands_ask_nobody_and_keep_to_their_folder(place: Place) -> None:
    picture = ROOT / "assets" / "library" / "pictures" / "german-shepherd.jpg"
    for command in (["add", str(picture), "--json"], ["search", "a dog", "--json"], ["doctor", "--json"]):
        ran = subprocess.run(
            [sys.executable, "app.py", *command],
            cwd=ROOT,
            env=place.environment,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr.decode()
        json.loads(ran.stdout)
    time.sleep(0.5)  # what is sent in the background
    assert asked(place) == []
    assert [path.name for path in place.home.rglob("*") if path.is_file()] == []


def test_page_asks_nobody_and_lets_the_browser_ask_nobody(place: Place, address: str) -> None:
    page = urllib.request.urlopen(address, timeout=30).read().decode()
    assert "Triptych" in page
    time.sleep(1)
    assert asked(place) == []
    assert [path.name for path in place.home.rglob("*") if path.is_file()] == []
    for foreign in ("fonts.googleapis.com", "fonts.gstatic.com", "google-analytics", "googletagmanager"):
        assert foreign not in page
