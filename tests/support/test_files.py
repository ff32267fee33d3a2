"""Files that outlive a crash, and folders that one process fills."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.errors import GoError
from engine.support.files import (
    append_line,
    claimed,
    draft_of,
    is_claimed,
    read_object,
    require_writable,
    whole_lines,
    write_atomically,
)

CLAIM_AND_WAIT = """
import sys, time
from pathlib import Path
from engine.support.files import claimed

with claimed(Path(sys.argv[1])):
    print("claimed", flush=True)
    time.sleep(60)
"""


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    write_atomically(path, "gö\n")
    assert path.read_bytes() == "gö\n".encode()
    write_atomically(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    write_atomically(path, "before")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_of_one_file_do_not_tear_each_others_draft(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    with draft_of(path) as slow:
        slow.write_bytes(b"slow")
        write_atomically(path, "quick")
        assert path.read_text() == "quick"
    assert path.read_text() == "slow"
    assert list(tmp_path.iterdir()) == [path]


def test_a_draft_is_hidden_and_known_by_its_suffix(tmp_path: Path) -> None:
    with draft_of(tmp_path / "some.txt") as draft:
        assert (draft.parent, draft.name[0], draft.suffix) == (tmp_path, ".", ".part")
        draft.write_bytes(b"")


@pytest.mark.parametrize("place", ["absent/some.txt", "file/some.txt"])
def test_what_cannot_be_written_is_named_by_its_own_name(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError) as caught:
        write_atomically(tmp_path / place, "text")
    assert caught.value.filename == str(tmp_path / place)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_lines_are_read_as_they_were_added(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    assert whole_lines(path) == []
    for line in ("a", "b c"):
        append_line(path, line)
    assert whole_lines(path) == ["a", "b c"]


def test_a_link_stays_one_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    path, link, pipe = (tmp_path / name for name in ("file", "link", "pipe"))
    link.symlink_to(path)
    write_atomically(link, "through")
    assert (link.is_symlink(), path.read_text()) == (True, "through")
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_text)
        write_atomically(pipe, "piped")
        assert read.result(timeout=20) == "piped"
    assert pipe.is_fifo()


def test_lines_and_drafts_leave_pipes_and_devices_alone(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/null")):
        with pytest.raises(OSError, match="Not a regular file"):
            append_line(path, "line")
        with pytest.raises(OSError, match="Not a regular file"), draft_of(path):
            pytest.fail("there is a draft")
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_file_that_can_never_be_written_is_found_out_before(tmp_path: Path) -> None:
    path = tmp_path / "new" / "some.txt"
    require_writable(path)
    assert list(path.parent.iterdir()) == []
    write_atomically(path, "kept")
    require_writable(path)
    assert path.read_text() == "kept"
    for hopeless in (tmp_path, path / "below.txt"):
        with pytest.raises(OSError) as caught:
            require_writable(hopeless)
        assert caught.value.filename


def test_a_line_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(GoError, match="lines: line 2: not UTF-8 text"):
        whole_lines(path)


@pytest.mark.parametrize("before", ["", "a\nb\n"])
@pytest.mark.parametrize("torn", [b"torn", "ü".encode()[:1]])
def test_a_torn_last_line_is_left_out_and_the_next_line_replaces_it(tmp_path: Path, before: str, torn: bytes) -> None:
    path = tmp_path / "lines"
    path.write_bytes(before.encode() + torn)
    assert whole_lines(path) == before.splitlines()
    assert path.read_bytes() == before.encode() + torn, "another process may be writing the line now"
    append_line(path, "c")
    assert path.read_text() == before + "c\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "not valid JSON"), ("[1]", r"expected a JSON object, got \[1\]"), ("\xff", "not valid JSON")],
)
def test_what_is_no_object_is_refused_by_its_file_and_in_the_callers_way(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "some.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(LookupError, match=rf"some\.json: {message}"):
        read_object(path, LookupError)
    path.write_text('{"a": 1}')
    assert read_object(path) == {"a": 1}


def test_a_folder_is_made_and_claimed_once_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    refused = pytest.raises(GoError, match="run: another keima process is using this folder")
    with claimed(folder), refused, claimed(folder):
        pass
    with claimed(folder):
        assert folder.is_dir()


def test_a_folder_is_known_to_be_claimed_and_asking_changes_nothing(tmp_path: Path) -> None:
    assert not is_claimed(tmp_path)
    assert not is_claimed(tmp_path / "absent")
    assert list(tmp_path.iterdir()) == []
    with claimed(tmp_path):
        assert is_claimed(tmp_path)
    assert not is_claimed(tmp_path)
    with claimed(tmp_path):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no lock that can be asked about by reading")
def test_a_folder_that_may_not_be_written_is_known_to_be_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with claimed(tmp_path):
        monkeypatch.setattr("filelock.FileLock.acquire", refuse)
        assert is_claimed(tmp_path)
        monkeypatch.undo()
    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    assert not is_claimed(tmp_path)


def test_what_has_no_folder_claims_nothing() -> None:
    with claimed(None), claimed(None):
        pass


def test_a_claim_ends_with_a_killed_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CLAIM_AND_WAIT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "claimed\n"
        with pytest.raises(GoError, match="another keima"), claimed(tmp_path):
            pass
        other.kill()
    with claimed(tmp_path):
        pass
