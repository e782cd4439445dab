"""Files that are opened and made so that no one else decides what they are."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from dbdyno import diskfiles
from dbdyno.store.text import files


def fifo(path: Path) -> None:
    os.mkfifo(path)


def directory(path: Path) -> None:
    path.mkdir()


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


@pytest.mark.parametrize("make", [fifo, directory, device, unix_socket])
@pytest.mark.parametrize("links", [False, True])
def test_only_regular_files_are_read(
    tmp_path: Path, make: Callable[[Path], None], links: bool
) -> None:
    make(tmp_path / "f")
    with pytest.raises(OSError, match="not a regular file"):
        diskfiles.opened(tmp_path / "f", links=links)


def test_a_link_is_followed_only_where_it_may_be(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"text")
    (tmp_path / "link").symlink_to("real")
    assert diskfiles.read(tmp_path / "link", 100, links=True) == b"text"
    with pytest.raises(OSError, match="a symbolic link"):
        diskfiles.read(tmp_path / "link", 100)


@pytest.mark.parametrize("mode", ["xb", "wb", "ab"])
def test_nothing_is_written_through_a_link(tmp_path: Path, mode: str) -> None:
    (tmp_path / "real").write_bytes(b"text")
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(OSError, match=r"symbolic link|File exists"):
        diskfiles.opened(tmp_path / "link", mode)
    assert (tmp_path / "real").read_bytes() == b"text"


@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_nothing_is_written_to_a_file_with_a_second_name(tmp_path: Path, mode: str) -> None:
    (tmp_path / "real").write_bytes(b"text")
    os.link(tmp_path / "real", tmp_path / "second")
    with pytest.raises(OSError, match="second name"):
        diskfiles.opened(tmp_path / "second", mode)
    assert (tmp_path / "real").read_bytes() == b"text"


def test_a_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    assert diskfiles.read(tmp_path / "f", 5) == b"12345"
    with pytest.raises(OSError, match="larger"):
        diskfiles.read(tmp_path / "f", 4)


def test_a_link_in_a_files_place_is_replaced(tmp_path: Path) -> None:
    """A link of a stranger's, both at the name and at the one that temporary files once had."""
    (tmp_path / "roots").write_text("mine")
    (tmp_path / "report.html").symlink_to("roots")
    (tmp_path / f".report.html.{os.getpid()}.tmp").symlink_to("roots")
    files.write_atomically(tmp_path / "report.html", "new")
    assert (tmp_path / "roots").read_text() == "mine"
    assert not (tmp_path / "report.html").is_symlink()
    assert (tmp_path / "report.html").read_text() == "new"


def test_after_an_error_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")

    def half(path: Path) -> None:
        with diskfiles.replacing(path) as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half(tmp_path / "f")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_text() == "old"


def test_temporary_names_are_never_the_same_and_say_whose_they_are() -> None:
    names = {diskfiles.temporary_name("ü" * 255) for _ in range(50)}
    assert len(names) == 50
    assert all(len(os.fsencode(name)) <= 255 for name in names)
    assert {diskfiles.writer_of(name) for name in names} == {os.getpid()}
    assert diskfiles.writer_of(".trial.json.4711.tmp") == 4711  # as older versions named them
    assert diskfiles.writer_of(".trial.json.tmp") is None


def test_a_private_file_is_its_owners(tmp_path: Path) -> None:
    files.write_atomically(tmp_path / "f", "secret", private=True)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600
