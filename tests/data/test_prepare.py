from dataclasses import replace
from itertools import compress
from pathlib import Path

import numpy as np
import pytest
from tests.data import plain

from saccade.data import chunks
from saccade.data import prepare as prepare_module
from saccade.data.chunks import clean
from saccade.data.corpus import Example
from saccade.data.prepare import Prepared, prepare
from saccade.data.settings import CleaningSettings, CorpusSettings, DataSettings
from saccade.errors import DataError
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
        valid=(_corpus(tmp_path, "valid", [("A  dog\u00a0.", "Ein Hund."), ("", "leer"), (" ", "leer"), ("x", "y")]),),
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
    data = replace(data, train=(_corpus(tmp_path, "twice", twice),), valid=())
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
    prepared = prepare(replace(data, valid=(), hold_out=0), TOKENIZER, tmp_path / "out", seed=1)
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


def test_the_weight_of_a_corpus_is_for_training_only(data: DataSettings, tmp_path: Path) -> None:
    out = tmp_path / "out"
    prepare(data, TOKENIZER, out, seed=1)
    written = (out / "prepared.json").stat().st_ino
    prepare(replace(data, train=(replace(data.train[0], weight=3.0),)), TOKENIZER, out, seed=1)
    assert (out / "prepared.json").stat().st_ino == written


def test_odd_names_do_no_harm(data: DataSettings, tmp_path: Path) -> None:
    (tmp_path / "a\tb\n.tsv").write_text("A cat.\tEine Katze.\n", encoding="utf-8")
    data = replace(data, train=(*data.train, CorpusSettings(file=tmp_path / "a\tb\n.tsv")))
    prepared = prepare(data, TOKENIZER, tmp_path / "out", seed=1)
    assert prepared.train.place(200) == "a b .tsv:1"


# -- in chunks, on all cores, with interruptions --


@pytest.fixture
def messy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataSettings:
    """Two corpora in many chunks, with pairs to drop for every reason, the later ones repeating the earlier."""
    monkeypatch.setattr(prepare_module, "_CHUNK", 32)
    monkeypatch.setattr(prepare_module, "_FEW", 1000)
    rng = np.random.default_rng(0)
    noise = [("", "leer"), ("x" * 90, "y" * 90), ("x" * 70, "y"), ("same", "same"), ("The dog " * 9, "Der Hund " * 9)]
    pairs = [PAIRS[rng.integers(200)] if rng.random() < 0.7 else noise[rng.integers(5)] for _ in range(300)]
    pairs += [(source, f"{target} Ja.") for source, target in PAIRS[:40]] + [("A cat " * 9, "Die Katze " * 7)]
    corpora = _corpus(tmp_path, "one", pairs[:200]), _corpus(tmp_path, "two", pairs[200:])
    cleaning = CleaningSettings(max_characters=80)
    return DataSettings(
        source_language="en", target_language="de", train=corpora, hold_out=20, max_tokens=15, cleaning=cleaning
    )


def _content(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize("changes", [{}, {"deduplicate": False}, {"drop_copies": True}])
def test_chunks_give_what_a_plain_loop_gives(messy: DataSettings, tmp_path: Path, changes: dict[str, bool]) -> None:
    messy = replace(messy, cleaning=replace(messy.cleaning, **changes))
    prepared = prepare(messy, TOKENIZER, tmp_path / "out", seed=1)
    kept, report = plain.cleaned(messy)
    kept, valid = plain.held_out(kept, report, 20, seed=1)
    encode = prepared.tokenizers.source.encode
    fits = [max(len(encode(example.source)), len(encode(example.target))) <= 15 for example, _ in kept]
    for (example, place), fit in zip(kept, fits, strict=True):
        if not fit:
            report.drop("tokens", example, place)
    assert prepared.report == report
    assert set(report.dropped) >= {"empty", "characters", "ratio", "held_out", "held_out_source", "tokens"}
    assert prepared.valid_examples == valid
    kept = list(compress(kept, fits))
    assert _decoded(prepared) == [(example.source, example.target) for example, _ in kept]
    assert [prepared.train.place(row) for row in range(len(kept))] == [place for _, place in kept]


def test_neither_processes_nor_interruptions_change_anything(
    messy: DataSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = replace(TOKENIZER, shared=False, max_sentences=100)
    whole = _content(prepare(messy, tokenizer, tmp_path / "whole", seed=1).directory)
    cleaned: list[Path] = []
    monkeypatch.setattr(chunks, "clean", lambda chunk: cleaned.append(chunk.path) or clean(chunk))

    class Interrupt(BaseException): ...

    def interrupted_after(calls: int) -> bool:
        told = []

        def progress(*what: object) -> None:
            told.append(what)
            if len(told) > calls:
                raise Interrupt

        try:
            prepare(messy, tokenizer, tmp_path / "cut", seed=1, progress=progress)
        except Interrupt:
            assert not (tmp_path / "cut").exists()
            return True
        return False

    interruptions = 0
    while interrupted_after(calls=3 + 2 * interruptions):
        interruptions += 1
    assert interruptions > 3
    assert len(cleaned) == len(set(cleaned)) == 12
    assert _content(tmp_path / "cut") == whole
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

    monkeypatch.undo()
    monkeypatch.setattr(prepare_module, "_CHUNK", 32)
    monkeypatch.setattr(prepare_module, "_FEW", 2)
    monkeypatch.setattr(prepare_module, "num_workers", lambda: 2)
    assert _content(prepare(messy, tokenizer, tmp_path / "parallel", seed=1).directory) == whole


def test_the_first_word_of_a_stage_is_what_was_done_before(messy: DataSettings, tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int | None) -> None:
        if (stage, done) == ("encoding", limit):
            raise KeyboardInterrupt

    told: list[tuple[str, int, int | None]] = []
    limit = 0
    with pytest.raises(KeyboardInterrupt):
        prepare(messy, TOKENIZER, tmp_path / "out", seed=1, progress=stop)
    prepare(messy, TOKENIZER, tmp_path / "out", seed=1, progress=lambda *what: told.append(what))
    assert told[0] == ("cleaning", 341, None)
    assert next(what[1] for what in told if what[0] == "encoding") == 0


def test_what_was_begun_for_other_settings_is_thrown_away(messy: DataSettings, tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int | None) -> None:
        if stage == "learning":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(messy, TOKENIZER, tmp_path / "out", seed=1, progress=stop)
    told: list[tuple[str, int, int | None]] = []
    strict = replace(messy, cleaning=CleaningSettings(max_characters=25))
    prepared = prepare(strict, TOKENIZER, tmp_path / "out", seed=1, progress=lambda *what: told.append(what))
    assert told[0] == ("cleaning", 0, None)
    assert prepared.report.kept == len(prepared.train)
    assert max(len(source) for source, _ in _decoded(prepared)) <= 25


def test_one_process_at_a_time(data: DataSettings, tmp_path: Path) -> None:
    def progress(stage: str, done: int, total: int | None) -> None:
        if stage == "learning":
            with pytest.raises(DataError, match="prepared by one process at a time"):
                prepare(data, TOKENIZER, tmp_path / "out", seed=1)

    assert len(prepare(data, TOKENIZER, tmp_path / "out", seed=1, progress=progress).train) == 200


def test_wrong_data_leave_nothing_behind(data: DataSettings, tmp_path: Path) -> None:
    with pytest.raises(DataError):
        prepare(replace(data, valid=(), hold_out=199), TOKENIZER, tmp_path / "out", seed=1)
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


def test_an_interrupted_run_leaves_the_old_corpus_as_it_was(
    data: DataSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = prepare(data, TOKENIZER, tmp_path / "out", seed=1).digest

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(prepare_module, "_encode", interrupt)
    with pytest.raises(KeyboardInterrupt):
        prepare(data, TOKENIZER, tmp_path / "out", seed=2)
    assert Prepared.open(tmp_path / "out").digest == before
