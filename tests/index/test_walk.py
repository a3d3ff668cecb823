"""Folders are walked completely, in order, once, and what cannot be read is told."""

import os
import socket
import subprocess

import pytest

from index.walk import walk
from tests.index.fakes import text


def names(found):
    return [os.fsdecode(os.path.basename(entry.path)) for entry in found]


def reasons(found):
    return {os.fsdecode(os.path.basename(entry.path)): entry.reason for entry in found if entry.reason}


def test_files_of_folders_come_by_name_and_absolute(tmp_path, monkeypatch):
    for name in ("b/2.txt", "b/1.txt", "a.txt", "c.txt", "b/deep/er/3.txt"):
        text(tmp_path / name, "x")
    monkeypatch.chdir(tmp_path)
    found = walk(["."])
    assert names(found) == ["a.txt", "1.txt", "2.txt", "3.txt", "c.txt"]
    assert all(os.path.isabs(entry.path) for entry in found)


def test_hidden_and_system_files_are_left_out_silently_but_taken_when_named(tmp_path):
    for name in (".git/config", ".hidden.txt", "Thumbs.db", "desktop.ini", "__MACOSX/x.txt", "~$draft.txt", "seen.txt"):
        text(tmp_path / name, "x")
    assert names(walk([tmp_path])) == ["seen.txt"]
    assert names(walk([tmp_path / ".hidden.txt"])) == [".hidden.txt"]
    assert names(walk([tmp_path / ".git"])) == ["config"]


def test_each_file_stands_once(tmp_path):
    file = text(tmp_path / "folder" / "one.txt", "x")
    found = walk([file, tmp_path, file.parent, tmp_path / "folder" / ".." / "folder" / "one.txt"])
    assert names(found) == ["one.txt"]
    assert names(walk([file.parent, tmp_path])) == ["one.txt"]
    (tmp_path / "other").symlink_to(file.parent)
    assert names(walk([tmp_path / "other", file.parent])) == ["one.txt"]


def test_loops_of_links_end(tmp_path):
    text(tmp_path / "a" / "one.txt", "x")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a")
    assert names(walk([tmp_path])) == ["one.txt"]


def test_a_link_to_a_folder_outside_is_followed(tmp_path):
    text(tmp_path / "outside" / "one.txt", "x")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "outside")
    assert names(walk([tmp_path / "inside"])) == ["one.txt"]


def test_what_is_no_file_is_told(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "broken.txt").symlink_to(tmp_path / "nowhere")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        found = walk([tmp_path, tmp_path / "missing.txt", "nul\0.txt"])
    assert reasons(found) == {
        "broken.txt": "is a link to nothing",
        "pipe.txt": "is neither a file nor a folder",
        "s": "is neither a file nor a folder",
        "missing.txt": "does not exist",
        "nul\0.txt": "is no path (it holds a NUL)",
    }


def test_an_unreadable_folder_is_told_and_the_others_are_walked(tmp_path, monkeypatch):
    text(tmp_path / "a" / "one.txt", "x")
    text(tmp_path / "b" / "two.txt", "x")
    scandir = os.scandir

    def refusing(path):  # as root every folder can be read, so permissions would test nothing
        if os.path.basename(path) == b"a":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found = walk([tmp_path])
    assert reasons(found) == {"a": "cannot be read: permission denied"}
    assert names(found) == ["a", "two.txt"]


def test_an_empty_folder_is_told_when_it_was_named(tmp_path):
    (tmp_path / "empty").mkdir()
    assert reasons(walk([tmp_path / "empty"])) == {"empty": "is a folder without files to add"}


def test_private_files_and_folders_are_left_out(tmp_path):
    text(tmp_path / "data" / "files" / "copy.txt", "x")
    text(tmp_path / "data" / "catalogue.txt", "x")
    text(tmp_path / "mine.txt", "x")
    private = [tmp_path / "data" / "files", tmp_path / "data" / "catalogue.txt", tmp_path / "not there"]
    assert names(walk([tmp_path], private)) == ["mine.txt"]


def test_very_deep_folders_are_walked(tmp_path):
    depth, here = 1010, os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(depth):  # by handles, as the path is too long to be named
            os.mkdir("d", dir_fd=here)
            inner = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
    finally:
        os.close(here)
    try:
        assert reasons(walk([tmp_path])) == {tmp_path.name: "is a folder without files to add"}
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)  # too deep for Python's own way


@pytest.mark.parametrize(
    "name", [b"new\nline.txt", "\U0001f600 smile.txt".encode(), b"broken \xff\xfe.txt", b" x .txt"]
)
def test_odd_names_are_names(tmp_path, name):
    path = os.path.join(os.fsencode(tmp_path), name)
    with open(path, "wb") as stream:
        stream.write(b"x")
    assert [entry.path for entry in walk([tmp_path])] == [path]
    assert [entry.path for entry in walk([os.fsdecode(path)])] == [path]
