import json
from pathlib import Path

from saccade.data.corpus import REASONS, Cleaner, CleaningReport, Example, read
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


def _clean(settings: CleaningSettings) -> tuple[list[tuple[Example, str]], CleaningReport]:
    cleaner = Cleaner(settings)
    return list(cleaner.clean((Example(*pair) for pair in PAIRS), "train.en")), cleaner.report


def test_every_pair_is_kept_or_has_a_reason() -> None:
    kept, report = _clean(CleaningSettings(max_characters=100))
    assert [place for _, place in kept] == [f"train.en:{number}" for number in (1, 7, 8, 9)]
    assert {reason: dropped.count for reason, dropped in report.dropped.items()} == {
        "empty": 2,
        "duplicate": 1,
        "characters": 1,
        "ratio": 1,
    }
    assert (report.read, report.kept, report.copies_kept) == (9, 4, 1)


def test_the_first_of_each_reason_is_shown_shortened() -> None:
    _, report = _clean(CleaningSettings(max_characters=100))
    assert report.dropped["empty"].place == "train.en:2"
    assert report.dropped["characters"].text == f"{'x' * 39}… → {'x' * 39}…"


def test_what_is_asked_for_can_change() -> None:
    _, report = _clean(CleaningSettings(deduplicate=False, drop_copies=True, max_ratio=20.0))
    assert set(report.dropped) == {"empty", "copy"}
    assert report.copies_kept == 0


def test_duplicates_are_found_across_corpora() -> None:
    cleaner = Cleaner(CleaningSettings())
    for origin in ("a", "b"):
        list(cleaner.clean([Example("one", "eins")], origin))
    assert cleaner.report.dropped["duplicate"].place == "b:1"


def test_kept_text_is_normalised() -> None:
    cleaner = Cleaner(CleaningSettings())
    [(example, _)] = cleaner.clean([Example("a\u00a0 b\r", "c\u2028d")], "x")
    assert example == Example("a b", "c d")


def test_the_report_as_table_and_as_json() -> None:
    _, report = _clean(CleaningSettings(max_characters=100))
    rows = report.table()
    assert rows[0] == ("read", 9, "")
    assert (REASONS["empty"], 2, "train.en:2:  → leer") in rows
    assert rows[-2] == ("kept", 4, "")
    assert sum(count for words, count, _ in rows if words in REASONS.values()) == report.read - report.kept
    assert CleaningReport.from_json(json.loads(json.dumps(report.to_json()))) == report


def test_reading_gives_the_text_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one \n\n", encoding="utf-8")
    (tmp_path / "b").write_text("eins\nzwei\n", encoding="utf-8")
    (tmp_path / "c").write_text("one \teins\n\tzwei\n", encoding="utf-8")
    expected = [Example("one ", "eins"), Example("", "zwei")]
    assert list(read(CorpusSettings(source=tmp_path / "a", target=tmp_path / "b"))) == expected
    assert list(read(CorpusSettings(file=tmp_path / "c"))) == expected
