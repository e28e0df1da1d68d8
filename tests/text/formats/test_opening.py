import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saccade.errors import DataError
from saccade.text.formats.opening import open_text


def _zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


def _same(content: bytes) -> bytes:
    return content


PACKINGS = pytest.mark.parametrize("pack", [_same, gzip.compress, _zstd], ids=["plain", "gzip", "zstd"])


@PACKINGS
@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("a\r\nb\r\r\n", ["a", "b\r"]),
        ("\n\n", ["", ""]),
        ("", []),
        ("\ufeffa\n\ufeffb\n", ["a", "\ufeffb"]),
        ("a\u2028b\u2029c\x85d\x0be\x0cf\rg\x1ch\n", ["a\u2028b\u2029c\x85d\x0be\x0cf\rg\x1ch"]),
        ("你好，世界\nä\n", ["你好，世界", "ä"]),
    ],
)
def test_only_newlines_split(tmp_path: Path, pack: Callable[[bytes], bytes], content: str, lines: list[str]) -> None:
    path = tmp_path / "text"  # the name says nothing about compression
    path.write_bytes(pack(content.encode()))
    assert list(open_text(path)) == lines


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lines=st.lists(st.text(st.characters(exclude_characters="\n\r\ufeff", exclude_categories=["Cs"]))))
def test_any_lines_come_back(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "text"
    path.write_bytes(_zstd("".join(f"{line}\n" for line in lines).encode()))
    assert list(open_text(path)) == lines


@pytest.mark.parametrize("pack", [gzip.compress, _zstd], ids=["gzip", "zstd"])
def test_compressed_parts_may_follow_one_another(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "text"
    lines = [f"line {number}" for number in range(100_000)]
    halves = "\n".join(lines[:50_000]), "\n" + "\n".join(lines[50_000:])
    path.write_bytes(b"".join(pack(half.encode()) for half in halves))
    assert list(open_text(path)) == lines


@pytest.mark.parametrize("pack", [gzip.compress, _zstd], ids=["gzip", "zstd"])
@pytest.mark.parametrize("damage", [lambda packed: packed[:-5], lambda packed: packed + b"junk"])
def test_damage_is_noticed(tmp_path: Path, pack: Callable[[bytes], bytes], damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "text"
    path.write_bytes(damage(pack("".join(f"line {number}\n" for number in range(50_000)).encode())))
    with pytest.raises(DataError, match=r"must be a complete compressed file, but it is damaged after line \d+"):
        list(open_text(path))
