import os
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.data import prepare as prepare_module
from saccade.data.corpus import Example
from saccade.data.prepare import Prepared, prepare
from saccade.data.settings import CleaningSettings, CorpusSettings, DataSettings
from saccade.text.tokenizer import TokenizerSettings

TOKENIZER = TokenizerSettings(vocabulary=400)
PAIRS = [(f"The dog number {number} runs.", f"Der Hund Nummer {number} läuft.") for number in range(200)]


def _corpus(directory: Path, name: str, pairs: list[tuple[str, str]]) -> CorpusSettings:
    source, target = directory / f"{name}.en", directory / f"{name}.de"
    source.write_text("".join(f"{pair[0]}\n" for pair in pairs), encoding="utf-8")
    target.write_text("".join(f"{pair[1]}\n" for pair in pairs), encoding="utf-8")
    return CorpusSettings(source=source, target=target)


@pytest.fixture
def data(tmp_path: Path) -> DataSettings:
    return DataSettings(
        source_language="en",
        target_language="de",
        train=(_corpus(tmp_path, "train", PAIRS),),
        valid=_corpus(tmp_path, "valid", [("A  dog\u00a0.", "Ein Hund."), ("", "leer"), (" ", "leer"), ("x", "y")]),
        hold_out=20,
    )


def _decoded(prepared: Prepared) -> list[tuple[str, str]]:
    tokenizers = prepared.tokenizers
    return [(tokenizers.source.decode(source), tokenizers.target.decode(target)) for source, target in prepared.train]


def test_the_corpus_comes_out_as_it_went_in(data: DataSettings, tmp_path: Path) -> None:
    prepared = prepare(data, TOKENIZER, tmp_path / "out", seed=1)
    assert _decoded(prepared) == PAIRS
    assert prepared.tokenizers.shared
    assert prepared.report.kept == len(prepared.train) == 200
    assert sorted(path.name for path in prepared.directory.iterdir()) == [
        "prepared.json",
        "tokenizer.spm",
        "train",
        "valid.source.txt",
        "valid.target.txt",
    ]


def test_validation_text_is_raw_but_never_blank(data: DataSettings, tmp_path: Path) -> None:
    prepared = prepare(data, TOKENIZER, tmp_path / "out", seed=1)
    assert prepared.valid_examples == [Example("A  dog\u00a0.", "Ein Hund."), Example("x", "y")]
    assert prepared.report.blank_valid == 2


def test_several_corpora_and_two_vocabularies(data: DataSettings, tmp_path: Path) -> None:
    (tmp_path / "more.tsv").write_text("A cat.\tEine Katze.\n" + "\t".join(PAIRS[0]) + "\n", encoding="utf-8")
    data = replace(data, train=(*data.train, CorpusSettings(file=tmp_path / "more.tsv")))
    prepared = prepare(data, replace(TOKENIZER, shared=False), tmp_path / "out", seed=1)
    assert _decoded(prepared) == [*PAIRS, ("A cat.", "Eine Katze.")]
    assert not prepared.tokenizers.shared
    assert prepared.report.dropped["duplicate"].place == "more.tsv:2"


def test_long_sentences_are_left_out_and_counted(data: DataSettings, tmp_path: Path) -> None:
    long = ("dog " * 100, "Hund " * 100)
    data = replace(data, train=(*data.train, _corpus(tmp_path, "long", [long, ("A dog.", "Ein Hund.")])), max_tokens=50)
    prepared = prepare(data, TOKENIZER, tmp_path / "out", seed=1)
    assert _decoded(prepared) == [*PAIRS, ("A dog.", "Ein Hund.")]
    assert prepared.report.dropped["tokens"].count == 1
    assert prepared.report.dropped["tokens"].place == "long.en:1"


def test_held_out_sources_are_not_learned_from(data: DataSettings, tmp_path: Path) -> None:
    twice = [*PAIRS, *((source, f"Hier: {target}") for source, target in PAIRS)]
    data = replace(data, train=(_corpus(tmp_path, "twice", twice),), valid=None)
    prepared = prepare(data, TOKENIZER, tmp_path / "out", seed=1)
    held_out = {(example.source, example.target) for example in prepared.valid_examples}
    sources = {source for source, _ in held_out}
    assert len(held_out) == 20
    assert held_out <= set(twice)
    assert _decoded(prepared) == [pair for pair in twice if pair[0] not in sources]
    assert prepared.report.dropped["held_out"].count == 20
    assert prepared.report.kept == len(prepared.train)

    again = prepare(data, TOKENIZER, tmp_path / "again", seed=1)
    other = prepare(data, TOKENIZER, tmp_path / "other", seed=2)
    assert again.valid_examples == prepared.valid_examples
    assert again.digest == prepared.digest
    assert other.valid_examples != prepared.valid_examples


def test_nothing_need_be_held_out(data: DataSettings, tmp_path: Path) -> None:
    prepared = prepare(replace(data, valid=None, hold_out=0), TOKENIZER, tmp_path / "out", seed=1)
    assert prepared.valid_examples == []
    assert len(prepared.train) == 200


def test_progress_is_told(data: DataSettings, tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    prepare(data, TOKENIZER, tmp_path / "out", seed=1, progress=lambda *what: told.append(what))
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == ["cleaning", "learning", "encoding"]
    assert told[-1] == ("encoding", 200, 200)


# -- reuse --


def test_what_is_there_is_opened_while_nothing_changed(data: DataSettings, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = prepare(data, TOKENIZER, out, seed=1)
    time = (out / "prepared.json").stat().st_mtime_ns
    again = prepare(data, TOKENIZER, out, seed=1)
    assert (out / "prepared.json").stat().st_mtime_ns == time
    assert again.digest == first.digest == Prepared.open(out).digest


def test_a_changed_setting_or_file_is_noticed(data: DataSettings, tmp_path: Path) -> None:
    out = tmp_path / "out"
    digests = [prepare(data, TOKENIZER, out, seed=1).digest]
    digests.append(prepare(data, replace(TOKENIZER, vocabulary=350), out, seed=1).digest)
    assert data.train[0].source is not None
    data.train[0].source.write_text("".join(f"{source}!\n" for source, _ in PAIRS), encoding="utf-8")
    changed = prepare(data, TOKENIZER, out, seed=1)
    digests.append(changed.digest)
    assert len(set(digests)) == 3
    assert _decoded(changed)[0][0].endswith("!")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_cleaning_settings_count(data: DataSettings, tmp_path: Path) -> None:
    prepare(data, TOKENIZER, tmp_path / "out", seed=1)
    strict = replace(data, cleaning=CleaningSettings(max_characters=25))
    assert prepare(strict, TOKENIZER, tmp_path / "out", seed=1).report.kept < 200


def test_leftovers_of_a_killed_run_and_odd_names_do_no_harm(data: DataSettings, tmp_path: Path) -> None:
    for state in ("partial", "old"):
        (tmp_path / f".out.{os.getpid()}.{state}" / "train").mkdir(parents=True)
    (tmp_path / "a\tb\n.tsv").write_text("A cat.\tEine Katze.\n", encoding="utf-8")
    data = replace(data, train=(*data.train, CorpusSettings(file=tmp_path / "a\tb\n.tsv")))
    for vocabulary in (400, 350):
        assert len(prepare(data, replace(TOKENIZER, vocabulary=vocabulary), tmp_path / "out", seed=1).train) == 201


def test_an_interrupted_run_leaves_things_as_they_were(
    data: DataSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    before = prepare(data, TOKENIZER, out, seed=1).digest

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(prepare_module, "_encode", interrupt)
    for directory in (out, tmp_path / "new"):
        with pytest.raises(KeyboardInterrupt):
            prepare(data, TOKENIZER, directory, seed=2)
    assert Prepared.open(out).digest == before
    assert not (tmp_path / "new").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
