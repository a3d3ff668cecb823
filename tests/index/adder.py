"""Adds a folder to a library in a process of its own: `python -m tests.index.adder DATA FOLDER`; prints each event.

The parent kills it, or runs two of them at once.
"""

import os
import sys
from pathlib import Path

from index import Library
from tests.index.fakes import FakeEmbedder


def main(data, folder):
    with Library(Path(data), FakeEmbedder(delay=0.001)) as library:
        print("ready", flush=True)
        for event in library.add([folder], copy=True):
            print(event.outcome, os.path.basename(event.path), event.reason, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
