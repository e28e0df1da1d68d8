"""The files of a Firefox translation model: Marian's binary format with int8 matrices, and its binary shortlist.

Every count and size in them is checked against the bytes that are there before anything is made of it.
"""

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ModelError
from saccade.search.shortlist import Shortlist
from saccade.text.formats.opening import DAMAGES, decompressed
from saccade.text.languages import is_known

LARGEST, LARGEST_SHORTLIST = 1 << 30, 1 << 26  # bytes, decompressed; the largest published ones have 60 and 10 million
LARGEST_METADATA = 1 << 20
MOST_ITEMS, LONGEST_NAME, MOST_AXES = 10_000, 256, 4
FLOAT32, INT8, INTGEMM8, INTGEMM16 = 0x404, 0x101, 0x4101, 0x4102
CONFIG = "special:model.yml"
MAGIC = 0xF11A48D5013417F5
METADATA = "metadata.json"
NAME = re.compile(r"(model|lex|vocab|srcvocab|trgvocab)\.(?:.+\.)?(?:bin|spm)(?:\.gz|\.zst)?")
AGAIN, FOREIGN = "Download it again.", "It does not belong to a Firefox translation model."

Tensors = dict[str, NDArray[np.float32]]
Config = Mapping[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class FirefoxFiles:
    """Where the parts of a model lie."""

    directory: Path
    by_role: Mapping[str, Path]
    metadata: Mapping[str, Any]

    @property
    def model(self) -> Path:
        return self.by_role["model"]

    @property
    def vocabularies(self) -> tuple[Path, Path]:
        """Of source and target, which may be one file."""
        joint = self.by_role.get("vocab")
        return (joint, joint) if joint else (self.by_role["srcvocab"], self.by_role["trgvocab"])

    @property
    def languages(self) -> tuple[str, str]:
        """As metadata.json has them, or the names of files: `model.enpt.intgemm.alphas.bin`."""
        source, target = (self.metadata.get(f"{side}Language") for side in ("source", "target"))
        if isinstance(source, str) and isinstance(target, str) and is_known(source) and is_known(target):
            return source, target
        pair = re.match(r"model\.([a-z]{2})([a-z]{2})\.", self.model.name)
        return (pair[1], pair[2]) if pair else ("und", "und")


def find(directory: Path) -> FirefoxFiles:
    """The files of the one model in a directory."""
    if not directory.is_dir():
        raise ModelError(
            f"{directory} must be a directory with the files of a Firefox translation model, but there is "
            f"{'a file' if directory.exists() else 'nothing'} of that name. Download all files of the model into one."
        )
    by_role: dict[str, Path] = {}
    for path in sorted(directory.iterdir()):  # the plain file before the same one compressed
        if (match := NAME.fullmatch(path.name)) and path.is_file():
            first = by_role.setdefault(match[1], path)
            if path.name not in (first.name, f"{first.name}.gz", f"{first.name}.zst"):
                raise ModelError(
                    f"{directory} must hold the files of one Firefox translation model, but it has {first.name} and "
                    f"{path.name}. Put each model into a directory of its own."
                )
    vocabularies = ("vocab",) if "vocab" in by_role or "srcvocab" not in by_role else ("srcvocab", "trgvocab")
    wanted = {"model": "model.*.bin", **{role: f"{role}.*.spm" for role in vocabularies}}
    if missing := [name for role, name in wanted.items() if role not in by_role]:
        raise ModelError(
            f"{directory} must hold a Firefox translation model, but it has no {' and no '.join(missing)} (nor one "
            "that ends in .gz). Download all files of the model into one directory."
        )
    return FirefoxFiles(directory, by_role, _metadata(directory / METADATA))


def read_bytes(path: Path, largest: int | None = None) -> bytes:
    """The content of a file of at most so many bytes, or LARGEST, decompressed."""
    largest = LARGEST if largest is None else largest
    try:
        with path.open("rb") as file:
            content = decompressed(file).read(largest + 1)
    except OSError as error:
        _refuse(path, "a readable file", f"it is not: {error.strerror}", "Check its permissions.")
    except DAMAGES as error:
        _refuse(path, "a complete compressed file", f"it cannot be unpacked ({error})")
    if content.startswith(b"version https://git-lfs"):
        _refuse(path, "the file itself", "it only points to a file of Git LFS", "Get it with: git lfs pull")
    if len(content) > largest:
        _refuse(path, f"a file of at most {largest:,} bytes", "it has more", FOREIGN)
    return content


def read_model(files: FirefoxFiles) -> tuple[Config, Tensors]:
    """Marian's settings and all parameters as float32; multipliers of activations are left out."""
    content, path = read_bytes(files.model), files.model
    checksum = files.metadata.get("hash")
    if checksum and hashlib.sha256(content).hexdigest() != checksum:
        _refuse(path, f"the file whose sha256 {METADATA} has", "it is another")
    items = _items(content, path)
    if CONFIG not in items:
        _refuse(path, f"a model with its settings ({CONFIG})", "it has none", FOREIGN)
    config = _flat_yaml(bytes(items.pop(CONFIG).data).rstrip(b"\0").decode("utf-8", "replace"))
    return config, {name: _array(item, path) for name, item in items.items() if not name.endswith("_QuantMultA")}


def read_shortlist(path: Path, num_source: int, num_target: int) -> Shortlist:
    """A binary shortlist in its own ids."""
    content = read_bytes(path, LARGEST_SHORTLIST)
    if len(content) < 48 or struct.unpack_from("<Q", content)[0] != MAGIC:
        _refuse(path, "a binary shortlist of Marian", "it does not begin like one")
    _, checksum, first, _, num_offsets, num_words = struct.unpack_from("<6Q", content)
    if len(content) != 48 + 8 * num_offsets + 4 * num_words:
        size = f"a shortlist of {num_offsets:,} offsets and {num_words:,} words, as it says"
        _refuse(path, size, f"it has {len(content):,} bytes")
    if _checksum(content[16:]) != checksum:
        _refuse(path, "the shortlist that was written", "its checksum is another")
    offsets = np.frombuffer(content, "<u8", num_offsets, 48).astype(np.int64)
    words = np.frombuffer(content, "<u4", num_words, 48 + 8 * num_offsets).astype(np.int32)
    made = Shortlist(np.arange(min(first, num_target), dtype=np.int32), offsets, words)
    if problem := made.problem(num_source, num_target):
        _refuse(path, "a shortlist of this model", problem, "Download all files of the model again.")
    return made


def _metadata(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(read_bytes(path, LARGEST_METADATA))
    except ValueError as error:
        _refuse(path, "JSON", f"it cannot be read as such ({error})")
    if not isinstance(found, dict):
        _refuse(path, "a JSON object", f"it is a {type(found).__name__}")
    return found


@dataclass(frozen=True, slots=True)
class _Item:
    """A named array as it lies in the file."""

    name: str
    kind: int
    shape: tuple[int, ...]
    data: memoryview


class _Reader:
    """Takes a file apart from its beginning; it never takes more than there is."""

    def __init__(self, content: bytes, path: Path) -> None:
        self._rest, self._path = memoryview(content), path

    def take(self, size: int) -> memoryview:
        if size > len(self._rest):
            _refuse(self._path, "a complete Marian binary", f"it ends {size - len(self._rest):,} bytes too early")
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def numbers(self, kind: str, count: int) -> tuple[int, ...]:
        layout = f"<{count}{kind}"
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    @property
    def num_left(self) -> int:
        return len(self._rest)


def _items(content: bytes, path: Path) -> dict[str, _Item]:
    """All arrays: a header for each, then their names, shapes and numbers."""
    reader = _Reader(content, path)
    version, count = reader.numbers("Q", 2)
    if version != 1 or count > MOST_ITEMS:
        what = f"version {version:,}" if version != 1 else f"{count:,} arrays"
        _refuse(path, "a Marian binary of version 1", f"it says {what}", FOREIGN)
    heads = [reader.numbers("Q", 4) for _ in range(count)]
    for length, _, axes, _ in heads:
        if not 1 <= length <= LONGEST_NAME or axes > MOST_AXES:
            _refuse(path, "a Marian binary", f"it has a name of {length:,} bytes or an array of {axes:,} axes")
    names = [bytes(reader.take(length)).rstrip(b"\0").decode("utf-8", "replace") for length, *_ in heads]
    shapes = [reader.numbers("i", axes) for _, _, axes, _ in heads]
    reader.take(*reader.numbers("Q", 1))  # padding
    items = {
        name: _Item(name, kind, shape, reader.take(size))
        for name, shape, (_, kind, _, size) in zip(names, shapes, heads, strict=True)
    }
    if len(items) < count or reader.num_left:
        surplus = f"{reader.num_left:,} bytes more than its arrays" if reader.num_left else "several arrays of one name"
        _refuse(path, "a Marian binary", f"it has {surplus}")
    return items


def _array(item: _Item, path: Path) -> NDArray[np.float32]:
    """As float32. A matrix of whole numbers is stored transposed, embeddings are not, and its scale follows it."""
    kinds = {FLOAT32: "<f4", INTGEMM8: "i1", INTGEMM16: "<i2"}
    if item.kind not in kinds:
        _refuse(path, "a model of float32, intgemm8 and intgemm16", f"{item.name} has type {item.kind:#x}")
    stored, count = np.dtype(kinds[item.kind]), prod(item.shape)
    is_quantized = item.kind != FLOAT32
    needed = count * stored.itemsize + 4 * is_quantized
    if min(item.shape, default=0) < 1 or needed > len(item.data):
        shape = " × ".join(map(str, item.shape))
        _refuse(path, f"a model whose {item.name} has {shape} numbers", f"it has {len(item.data):,} bytes of them")
    values = np.frombuffer(item.data, stored, count)
    scale = np.frombuffer(item.data, "<f4", 1, needed - 4)[0] if is_quantized else np.float32(1)
    if not (scale > 0 and np.isfinite(values).all()):
        _refuse(path, "a model of finite numbers", f"{item.name} has others")
    is_transposed = is_quantized and "Wemb" not in item.name
    laid = values.reshape(item.shape[::-1]).T if is_transposed else values.reshape(item.shape)
    return np.ascontiguousarray(laid.astype(np.float32) / scale)


def _flat_yaml(text: str) -> Config:
    """`name: value` and lists, the only YAML that Marian writes for a model; values stay as they are written."""
    config: dict[str, str | list[str]] = {}
    last = ""
    for line in text.splitlines():
        name, colon, value = (part.strip() for part in line.partition(":"))
        if line.lstrip().startswith("- "):
            known = config.get(last)
            config[last] = [*(known if isinstance(known, list) else []), line.strip().removeprefix("- ")]
        elif colon:
            last, config[name] = name, value.strip("\"'")
    return config


def _checksum(content: bytes) -> int:
    """Marian's, of as many whole words of 64 bits as there are."""
    seed = 0
    for (word,) in struct.iter_unpack("<Q", content[: len(content) // 8 * 8]):
        seed ^= (word + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & 0xFFFFFFFFFFFFFFFF
    return seed


def _refuse(path: Path, wanted: str, problem: str, remedy: str = AGAIN) -> NoReturn:
    raise ModelError(f"{path} must be {wanted}, but {problem}. {remedy}")
