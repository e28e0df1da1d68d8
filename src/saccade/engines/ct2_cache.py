"""Models converted for CTranslate2, cached in `ct2/` of the model directory, or else in the user's cache.

A directory is named for what it was made from, and appears whole; if two processes convert, the first one's is used.
"""

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from saccade.directory import ModelDirectory
from saccade.engines.engine import Compute
from saccade.files import draft_directory, remove_abandoned_drafts, sha256_of, user_cache
from saccade.interop.ctranslate2 import convert
from saccade.parameters import parse_parameters

VERSION = 1  # of what `convert` writes; raise it to convert everything again


def find_or_build(directory: ModelDirectory, compute: Compute) -> Path | Mapping[str, bytes]:
    """The directory that CTranslate2 opens, or its files if none can be written."""
    name = _name(directory, compute, sha256_of(directory.stored))
    beside, cached = directory.path / "ct2" / name, user_cache() / "ct2" / name
    for path in (beside, cached):
        if path.is_dir():
            return path
    name, files = _convert(directory, compute)
    for path in (beside.with_name(name), cached.with_name(name)):
        try:
            with draft_directory(path, keep_existing=True) as draft:  # unless another process was faster
                for file, content in files.items():
                    (draft / file).write_bytes(content)
        except OSError:  # read-only, or the disk is full
            continue
        if path == beside:
            _tidy(path, compute)
        return path
    return files


def _convert(directory: ModelDirectory, compute: Compute) -> tuple[str, Mapping[str, bytes]]:
    """Named for the very bytes it was made from: a training may put a new model in place at any moment."""
    content = directory.stored.read_bytes()
    name = _name(directory, compute, hashlib.sha256(content).hexdigest())
    parameters = directory.merged(parse_parameters(content, path=directory.stored))
    return name, convert(directory, parameters, quantize=compute)


def _name(directory: ModelDirectory, compute: Compute, stored: str) -> str:
    made_from = f"{VERSION} {directory.checksum(stored)}"
    return f"{compute}-{hashlib.sha256(made_from.encode()).hexdigest()[:16]}"


def _tidy(path: Path, compute: Compute) -> None:
    """Remove what was made from the model before it changed, and drafts whose writer was killed."""
    for other in path.parent.glob(f"{compute}-*"):
        if other != path:
            shutil.rmtree(other, ignore_errors=True)
    remove_abandoned_drafts(path.parent)
