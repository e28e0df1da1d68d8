"""Whatever kills the writer, the old or the new one is there, whole, and nothing of the user's is touched."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from saccade import files
from saccade.files import draft_directory, draft_file, lock, recover, recover_all, write_atomically

ODD_NAMES = ["out", "a*b", "[ab]", "a?", "a.b", ".hidden", "line\nbreak", "模型"]


class Interrupt(BaseException):
    pass


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def fill(directory: Path, text: str) -> None:
    directory.mkdir(exist_ok=True)
    (directory / "file").write_text(text)


def interrupt_while_writing(path: Path) -> None:
    with draft_directory(path) as draft:
        (draft / "file").write_text("half")
        raise Interrupt


# -- writing --


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_file_is_replaced_whole(name: str, tmp_path: Path):
    path = tmp_path / name
    write_atomically(path, "ä\n")
    write_atomically(path, b"new\r\n")
    assert path.read_bytes() == b"new\r\n"
    with pytest.raises(Interrupt), draft_file(path) as draft:
        raise Interrupt(draft.write_text("half"))
    assert path.read_bytes() == b"new\r\n"
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_directory_is_replaced_whole(name: str, tmp_path: Path):
    path = tmp_path / name
    fill(path, "old")
    with pytest.raises(Interrupt):
        interrupt_while_writing(path)
    assert (path / "file").read_text() == "old"
    with draft_directory(path) as draft:
        (draft / "other").write_text("new")
    assert names(path) == ["other"]
    assert names(tmp_path) == [name]


def test_a_directory_that_is_there_may_be_kept(tmp_path: Path):
    fill(tmp_path / "out", "first")
    with draft_directory(tmp_path / "out", keep_existing=True) as draft:
        fill(draft, "second")
    assert (tmp_path / "out" / "file").read_text() == "first"
    assert names(tmp_path) == ["out"]
    (tmp_path / "file").touch()
    with pytest.raises(OSError), draft_directory(tmp_path / "file", keep_existing=True):  # noqa: PT011
        pass


def test_where_the_new_one_cannot_be_put_in_place_the_old_one_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fill(tmp_path / "out", "old")
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if self.name.endswith("-draft"):
            raise OSError("refused")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OSError, match="refused"), draft_directory(tmp_path / "out") as draft:
        fill(draft, "new")
    assert (tmp_path / "out" / "file").read_text() == "old"
    assert names(tmp_path) == ["out"]


def test_drafts_have_unpredictable_names(tmp_path: Path):
    with draft_directory(tmp_path / "out") as one, draft_directory(tmp_path / "out") as two:
        assert one != two
        assert all(path.name.startswith(".out.") for path in (one, two))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask to speak of")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_modes_follow_the_umask(umask: int, mode: int, tmp_path: Path):
    """safetensors writes files that only their owner may read."""
    before = os.umask(umask)
    try:
        with draft_directory(tmp_path / "out") as draft:
            save_file({"a": np.zeros(1)}, draft / "model.safetensors")
            (draft / "below").mkdir()
            save_file({"a": np.zeros(1)}, draft / "below" / "model.safetensors")
        write_atomically(tmp_path / "file", "")
    finally:
        os.umask(before)
    written = [tmp_path / "out/model.safetensors", tmp_path / "out/below/model.safetensors", tmp_path / "file"]
    assert [path.stat().st_mode & 0o777 for path in written] == [mode] * 3


# -- recovering --


@pytest.mark.parametrize("name", ODD_NAMES)
def test_recovering_brings_the_old_one_back_and_removes_drafts(name: str, tmp_path: Path):
    path = tmp_path / name
    fill(tmp_path / f".{name}.0a1b2c3d4e5f.saccade-old", "older")
    os.utime(tmp_path / f".{name}.0a1b2c3d4e5f.saccade-old", (1, 1))
    fill(tmp_path / f".{name}.1a1b2c3d4e5f.saccade-old", "old")
    fill(tmp_path / f".{name}.2a1b2c3d4e5f.saccade-draft", "half")
    (tmp_path / f".{name}.3a1b2c3d4e5f.saccade-draft").write_text("half of a file")
    recover(path)
    assert names(tmp_path) == [name]
    assert (path / "file").read_text() == "old"


@pytest.mark.parametrize("name", ["out", "*", "[a-z]", "?"])
def test_what_belongs_to_the_user_or_to_others_stays(name: str, tmp_path: Path):
    theirs = [".out.backup", ".out.old", ".out.0a1b2c3d", ".x.backup", ".other.0a1b2c3d4e5f.saccade-draft"]
    for directory in theirs:
        fill(tmp_path / directory, "mine")
    recover(tmp_path / name)
    with pytest.raises(Interrupt):
        interrupt_while_writing(tmp_path / name)
    with draft_directory(tmp_path / name) as draft:
        fill(draft, "new")
    assert names(tmp_path) == sorted([*theirs, name])
    recover_all(tmp_path)
    assert names(tmp_path) == sorted([*theirs[:-1], name])


def test_abandoned_drafts_are_told_from_those_being_written(tmp_path: Path):
    fill(tmp_path / ".out.0a1b2c3d4e5f.saccade-draft", "half")
    os.utime(tmp_path / ".out.0a1b2c3d4e5f.saccade-draft", (1, 1))
    fill(tmp_path / ".out.1a1b2c3d4e5f.saccade-draft", "being written")
    files.remove_abandoned_drafts(tmp_path)
    assert names(tmp_path) == [".out.1a1b2c3d4e5f.saccade-draft"]


# -- locks --

HOLD = """
import sys
import threading
from pathlib import Path
from saccade.files import lock
with lock(Path(sys.argv[1]), RuntimeError("held")):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_lock_refuses_others_and_leaves_nothing(tmp_path: Path):
    path = tmp_path / ".lock"
    with lock(path, RuntimeError("one")):
        with pytest.raises(RuntimeError, match="two"), lock(path, RuntimeError("two")):
            pass
        with pytest.raises(RuntimeError, match="three"), lock(path, RuntimeError("three")):
            pass
    assert names(tmp_path) == []


def test_a_lock_can_be_waited_for(tmp_path: Path):
    path, entered = tmp_path / ".lock", []

    def wait() -> None:
        with lock(path, RuntimeError("still held"), patience=60.0):
            entered.append(True)

    waiting = threading.Thread(target=wait)
    with lock(path, RuntimeError("one")):
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        assert not entered
    waiting.join()
    assert entered


def test_a_lock_ends_with_its_process(tmp_path: Path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / ".lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(RuntimeError), lock(tmp_path / ".lock", RuntimeError("held by another process")):
        pass
    holder.kill()
    holder.communicate()
    with lock(tmp_path / ".lock", RuntimeError("still held")):
        pass
    assert names(tmp_path) == []


STAMPEDE = """
import os, sys, time
from pathlib import Path
from saccade.files import lock
folder = Path(sys.argv[1])
for _ in range(300):
    try:
        with lock(folder / ".lock", TimeoutError()):
            os.close(os.open(folder / "inside", os.O_CREAT | os.O_EXCL))
            os.unlink(folder / "inside")
    except TimeoutError:
        pass
"""


def test_removing_the_lock_file_never_lets_two_in(tmp_path: Path):
    several = [subprocess.Popen([sys.executable, "-c", STAMPEDE, tmp_path]) for _ in range(3)]
    assert [process.wait() for process in several] == [0, 0, 0]


# -- checksums --


def test_a_manifest_finds_what_was_changed(tmp_path: Path):
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)
    (tmp_path / "ct2").mkdir()
    files.write_manifest(tmp_path)
    manifest = files.read_manifest(tmp_path)
    assert list(manifest) == ["a", "b", "c"]
    assert manifest["a"].size == 1
    assert manifest["a"].sha256 == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    assert not list(files.find_changes(tmp_path, manifest))
    (tmp_path / "a").unlink()
    (tmp_path / "b").write_text("longer")
    (tmp_path / "c").write_text("x")
    (tmp_path / "more").touch()
    changes = ["a is missing", "b has 6 bytes instead of 1", "c has another checksum"]
    assert list(files.find_changes(tmp_path, manifest)) == changes


def test_a_directory_without_a_manifest_and_one_with_nonsense(tmp_path: Path):
    assert files.read_manifest(tmp_path) is None
    for content in ("{", "[]", '{"files": {"a": {}}}'):
        (tmp_path / "manifest.json").write_text(content)
        with pytest.raises(ValueError):  # noqa: PT011
            files.read_manifest(tmp_path)


# -- places --


def test_the_cache_directory_is_where_users_want_it(monkeypatch: pytest.MonkeyPatch):
    for name in ("SACCADE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    for platform, expected in (("linux", ".cache"), ("darwin", "Library/Caches"), ("win32", "AppData/Local")):
        monkeypatch.setattr(sys, "platform", platform)
        assert files.user_cache() == Path("/home/ada") / expected / "saccade"
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert files.user_cache() == Path("/caches/saccade")
    monkeypatch.setenv("SACCADE_CACHE", "~/models")
    assert files.user_cache() == Path("/home/ada/models")
