"""Files and directories that appear whole or not at all, locks that end with their process, and checksums.

What is being written lies beside its destination as `.NAME.<random>.saccade-draft`; a directory that is being replaced
steps aside as `.NAME.<random>.saccade-old`. Whatever kills the writer, NAME is the old or the new one, or `recover`
brings the old one back. Nothing that is named in another way is ever removed.
"""

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from filelock import FileLock, Timeout

MANIFEST = "manifest.json"
ABANDONED = 3600.0  # seconds
_LEFTOVER = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{12}\.saccade-(?P<kind>draft|old)", re.DOTALL)


# -- writing --


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file under a temporary name and put it in place whole; text is UTF-8."""
    with draft_file(path) as draft:
        draft.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def draft_file(path: Path, *, synced: bool = True) -> Iterator[Path]:
    """An empty temporary file to write to. On success it becomes `path`; on an error it is removed.

    Without `synced`, a power cut may leave a damaged file: for what is checked when it is read.
    """
    draft = _aside(path, "draft")
    draft.touch(exist_ok=False)
    try:
        yield draft
        if synced:
            sync(draft)
        draft.replace(path)
        if synced:
            sync(path.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def draft_directory(path: Path, *, keep_existing: bool = False) -> Iterator[Path]:
    """An empty temporary directory to write to. On success it becomes `path`; on an error it is removed.

    A directory that is already there is replaced, or kept as it is if `keep_existing`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = _aside(path, "draft")
    draft.mkdir()
    try:
        yield draft
        if keep_existing:
            _sync_files(draft)
            try:
                draft.rename(path)
            except OSError:
                if not path.is_dir():
                    raise
        else:
            replace_directory(draft, path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def replace_directory(draft: Path, path: Path) -> None:
    """Put a finished directory in the place of another, which is removed only after the new one is in place."""
    _sync_files(draft)
    old = _aside(path, "old")
    if path.exists():
        path.rename(old)
    try:
        draft.rename(path)
    except BaseException:
        if old.exists() and not path.exists():
            old.rename(path)
        raise
    sync(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def remove_directory(path: Path) -> None:
    """Remove a directory, under another name: half removed, it would look like a damaged one."""
    shutil.rmtree(path.rename(_aside(path, "draft")), ignore_errors=True)


def recover(path: Path) -> None:
    """Clean up after a writer of `path` was killed. Nobody may be writing to it now."""
    leftovers = [path.parent / match[0] for match in _leftovers(path.parent) if match["name"] == path.name]
    for leftover in sorted(leftovers, key=lambda entry: entry.stat().st_mtime, reverse=True):
        if leftover.name.endswith("-old") and not path.exists():
            leftover.rename(path)
        else:
            _remove(leftover)


def recover_all(folder: Path) -> None:
    """Clean up after the writers of anything in a folder were killed. Nobody may be writing there now."""
    for name in {match["name"] for match in _leftovers(folder)}:
        recover(folder / name)


def remove_abandoned_drafts(folder: Path) -> None:
    """Remove drafts that nobody has written to for an hour, where others may be writing at the same time."""
    for match in _leftovers(folder):
        draft = folder / match[0]
        with suppress(FileNotFoundError):  # another process was faster
            if match["kind"] == "draft" and draft.stat().st_mtime < time.time() - ABANDONED:
                _remove(draft)


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a directory, are on the disk."""
    if os.name == "nt" and path.is_dir():  # Windows cannot open one, and has no need to
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_files(directory: Path) -> None:
    """Make sure that a directory is on the disk, with the permissions that the umask grants; safetensors gives 0600."""
    for parent, _, names in os.walk(directory):
        mode = Path(parent).stat().st_mode & 0o666
        for name in names:
            file = Path(parent, name)
            file.chmod(mode)
            sync(file)
        sync(Path(parent))


def _aside(path: Path, kind: Literal["draft", "old"]) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.saccade-{kind}")


def _leftovers(folder: Path) -> list[re.Match[str]]:
    entries = folder.iterdir() if folder.is_dir() else ()
    return [match for entry in entries if (match := _LEFTOVER.fullmatch(entry.name))]


def _remove(leftover: Path) -> None:
    if leftover.is_dir() and not leftover.is_symlink():
        shutil.rmtree(leftover, ignore_errors=True)
    else:
        leftover.unlink(missing_ok=True)


# -- places --


def user_cache() -> Path:
    """This user's cache directory of saccade: SACCADE_CACHE, or else where the platform keeps caches."""
    if own := os.environ.get("SACCADE_CACHE"):
        return Path(own).expanduser()
    if home := os.environ.get("XDG_CACHE_HOME"):
        return Path(home) / "saccade"
    places = {"darwin": "Library/Caches", "win32": "AppData/Local"}
    return Path.home() / places.get(sys.platform, ".cache") / "saccade"


# -- locks --


@contextmanager
def lock(path: Path, refusal: Exception, *, patience: float = 0.0) -> Iterator[None]:
    """Hold a lock file, or raise `refusal` if another process holds it and goes on so for `patience` seconds.

    The lock ends with the process in any case.
    """
    if not path.parent.is_dir():  # which filelock would make
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    guard = FileLock(path)
    try:
        guard.acquire(timeout=patience)
    except Timeout:
        raise refusal from None
    try:
        yield
    finally:
        try:
            # Safe while it is held: filelock does not accept a file that was removed between its open and its lock.
            with suppress(OSError):
                path.unlink()
        finally:
            guard.release()


# -- checksums --


def sha256_of(path: Path) -> str:
    """The sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class FileRecord(NamedTuple):
    """What a manifest says of one file."""

    size: int  # in bytes
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "FileRecord":
        return cls(path.stat().st_size, sha256_of(path))


def write_manifest(directory: Path) -> None:
    """Write manifest.json of all files that are there; hidden ones and directories do not count."""
    paths = sorted(path for path in directory.iterdir() if path.is_file() and not path.name.startswith("."))
    records = {path.name: FileRecord.of(path)._asdict() for path in paths if path.name != MANIFEST}
    write_atomically(directory / MANIFEST, json.dumps({"files": records}, indent=1, ensure_ascii=False) + "\n")


def read_manifest(directory: Path) -> dict[str, FileRecord] | None:
    """The files that manifest.json lists, or None if there is none. One that cannot be understood raises ValueError."""
    try:
        content = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        return {name: FileRecord(**record) for name, record in content["files"].items()}
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{directory / MANIFEST} is not a manifest") from error


def find_changes(directory: Path, records: Mapping[str, FileRecord]) -> Iterator[str]:
    """Which of these files are missing or changed, and how."""
    for name, record in records.items():
        path = directory / name
        if not path.is_file():
            yield f"{name} is missing"
        elif (size := path.stat().st_size) != record.size:
            yield f"{name} has {size:,} bytes instead of {record.size:,}"
        elif sha256_of(path) != record.sha256:
            yield f"{name} has another checksum"
