"""Where the CTranslate2 engine keeps what it has converted: in `ct2/` of the model, or else in the user's cache.

A directory is named for what it was made from, so a model that has changed is not mistaken for the one before. It is
written under another name and put in place whole: a process that is killed leaves nothing that looks complete, and of
two that build at once the first one's is taken.
"""

import hashlib
import os
import shutil
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from saccade.directory import PARAMETERS, ModelDirectory, sync
from saccade.engines.engine import Compute
from saccade.interop.ctranslate2 import convert
from saccade.parameters import parse_parameters

VERSION = 1  # of what `convert` makes; a change makes everything anew
ABANDONED = 3600.0  # seconds after which a draft has no writer any more


def find_or_build(directory: ModelDirectory, compute: Compute) -> Path | Mapping[str, bytes]:
    """A directory that CTranslate2 opens; if none can be written, its files."""
    with (directory.path / PARAMETERS).open("rb") as file:
        name = _name(directory, compute, hashlib.file_digest(file, "sha256").hexdigest())
    beside, cached = directory.path / "ct2" / name, cache() / "ct2" / name
    for path in (beside, cached):
        if path.is_dir():
            return path
    name, files = _converted(directory, compute)
    for path in (beside.with_name(name), cached.with_name(name)):
        try:
            write(path, files)
        except OSError:  # read-only, or the disk is full
            continue
        if path == beside:
            _tidy(path, compute)
        return path
    return files


def cache() -> Path:
    """Where this user's programs keep what they can make again."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "saccade"


def write(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a directory under another name and put it in place whole, unless another process was faster."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        draft.mkdir()
        for name, content in files.items():
            (draft / name).write_bytes(content)
            sync(draft / name)
        draft.rename(path)
    except OSError:
        if not path.is_dir():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _converted(directory: ModelDirectory, compute: Compute) -> tuple[str, Mapping[str, bytes]]:
    """Named for the very bytes it was made from: a training may put a new model in place at any moment."""
    path = directory.path / PARAMETERS
    content = path.read_bytes()
    name = _name(directory, compute, hashlib.sha256(content).hexdigest())
    return name, convert(directory, parse_parameters(content, path=path), quantize=compute)


def _name(directory: ModelDirectory, compute: Compute, checksum: str) -> str:
    parts = (str(VERSION), checksum, repr(directory.description.model), *directory.tokenizers.checksums)
    return f"{compute}-{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:16]}"


def _tidy(path: Path, compute: Compute) -> None:
    """Remove what was made from the model before it changed, and drafts whose writer was killed."""
    for other in path.parent.glob(f"{compute}-*"):
        if other != path:
            shutil.rmtree(other, ignore_errors=True)
    for draft in path.parent.glob(f".{compute}-*"):
        with suppress(FileNotFoundError):  # another process was faster
            if draft.stat().st_mtime < time.time() - ABANDONED:
                shutil.rmtree(draft, ignore_errors=True)
