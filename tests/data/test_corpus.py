import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.data import chunks
from saccade.data.chunks import Cleaned, RawChunk, clean, first_of_equals, num_read
from saccade.data.corpus import REASONS, CleaningReport, Example, read
from saccade.data.settings import CleaningSettings, CorpusSettings

SENTENCE = "A dog runs through the grass."
PAIRS = [
    (SENTENCE, "Ein Hund läuft durch das Gras."),
    ("", "leer"),
    ("\u200b \t", "auch leer"),
    (SENTENCE, "Ein  Hund läuft durch das Gras. "),
    ("x" * 101, "x" * 100),
    (SENTENCE, "Ja"),
    ("A question of size?", "G"),
    ("OK", "OK"),
    ("一只狗在草地上跑。", "A small brown dog is running across the wide meadow."),
]


def _clean(settings: CleaningSettings, pairs: list[tuple[str, str]], directory: Path) -> Cleaned:
    path = directory / "chunk.npz"
    assert clean(RawChunk(path, 0, "train.en", 1, pairs, settings)) == len(pairs) == num_read(path)
    return Cleaned([path])


def test_every_pair_is_kept_or_has_a_reason(tmp_path: Path) -> None:
    cleaned = _clean(CleaningSettings(max_characters=100), PAIRS, tmp_path)
    rows = np.flatnonzero(first_of_equals(cleaned.column("pairs")))
    assert [place for _, place in cleaned.take(rows)] == [f"train.en:{number}" for number in (1, 7, 8, 9)]
    assert {reason: dropped.count for reason, dropped in cleaned.report.dropped.items()} == {
        "empty": 2,
        "characters": 1,
        "ratio": 1,
    }
    assert (cleaned.report.read, cleaned.report.kept) == (9, 5)
    assert cleaned.column("copies").tolist() == [False, False, False, True, False]


def test_the_first_of_each_reason_is_shown_shortened(tmp_path: Path) -> None:
    report = _clean(CleaningSettings(max_characters=100), PAIRS, tmp_path).report
    assert report.dropped["empty"].place == "train.en:2"
    assert report.dropped["characters"].text == f"{'x' * 39}… → {'x' * 39}…"


def test_what_is_asked_for_can_change(tmp_path: Path) -> None:
    report = _clean(CleaningSettings(deduplicate=False, drop_copies=True, max_ratio=20.0), PAIRS, tmp_path).report
    assert set(report.dropped) == {"empty", "copy"}


def test_kept_text_is_normalised(tmp_path: Path) -> None:
    cleaned = _clean(CleaningSettings(), [("a\u00a0 b\r", "c\u2028d")], tmp_path)
    assert list(cleaned.take(np.array([0]))) == [(Example("a b", "c d"), "train.en:1")]


@given(numbers=st.lists(st.integers(0, 9), max_size=40), at_once=st.integers(1, 50))
def test_of_equals_the_first_stays(numbers: list[int], at_once: int) -> None:
    digests = np.array(numbers, np.uint64) * np.uint64(0x0123456789ABCDEF)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "_SORTED_AT_ONCE", at_once)
        assert first_of_equals(digests).tolist() == [n not in numbers[:row] for row, n in enumerate(numbers)]


def test_a_damaged_chunk_is_none(tmp_path: Path) -> None:
    path = _clean(CleaningSettings(), PAIRS, tmp_path).paths[0]
    whole = path.read_bytes()
    for damaged in (b"", whole[:-9], whole.replace(b"grass", b"brass")):
        path.write_bytes(damaged)
        assert num_read(path) == 0


def test_the_report_as_table_and_as_json(tmp_path: Path) -> None:
    report = _clean(CleaningSettings(max_characters=100), PAIRS, tmp_path).report
    rows = report.table()
    assert rows[0] == ("read", 9, "")
    assert (REASONS["empty"], 2, "train.en:2:  → leer") in rows
    assert rows[-1] == ("kept", 5, "")
    assert sum(count for words, count, _ in rows if words in REASONS.values()) == report.read - report.kept
    assert CleaningReport.from_json(json.loads(json.dumps(asdict(report)))) == report


def test_reading_gives_the_text_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one \n\n", encoding="utf-8")
    (tmp_path / "b").write_text("eins\nzwei\n", encoding="utf-8")
    (tmp_path / "c").write_text("one \teins\n\tzwei\n", encoding="utf-8")
    expected = [("one ", "eins"), ("", "zwei")]
    assert list(read(CorpusSettings(source=tmp_path / "a", target=tmp_path / "b"))) == expected
    assert list(read(CorpusSettings(file=tmp_path / "c"))) == expected
