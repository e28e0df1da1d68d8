"""All contestants of the decoding race translate the same: otherwise their speeds could not be compared."""

from pathlib import Path

import pytest

from benchmarks.decoding import decoders, layout, race
from benchmarks.decoding.turn import cut_by_length, measure_turn
from benchmarks.decoding.work import DecodingWork
from saccade.directory import ModelDirectory
from saccade.errors import DataError

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"


@pytest.fixture(scope="module", params=["post", "pre"])
def work(request: pytest.FixtureRequest, saccade, write_task, tmp_path_factory: pytest.TempPathFactory) -> DecodingWork:
    """Of a model whose norms Marian has, and of one whose norms Pegasus has."""
    directory = tmp_path_factory.mktemp("decoders")
    ended = saccade("train", write_task(directory), "--set", f'model.norm="{request.param}"')
    assert ended.code == 0, ended.stderr
    (directory / "work").mkdir()
    model = ModelDirectory.open(directory / "run")
    return layout.write_decoding_work(directory / "work", model, 30, directory / "train.en", directory / "train.de")


def test_all_translate_alike(work: DecodingWork):
    everyone = [
        decoders.ours(work, "auto", "float32"),
        decoders.ours(work, "torch", "float32"),
        decoders.ctranslate2(work, "float32"),
        decoders.ctranslate2(work, "int8"),
        decoders.hugging_face(work),
    ]
    for beam in (1, 3):
        for decode in everyone:
            assert decode(work.sources, beam) == work.references, "the task is learned to the last word"


def test_what_is_laid_out_is_read_again(work: DecodingWork):
    assert DecodingWork.open(work.directory) == work
    assert len(work.sources) == 30
    assert work.corpus == "30 sentences, train.en"


def test_other_toolkits_translate_alike(work: DecodingWork):
    others = race.peer_contestants(work, PEERS, baseline="none")
    if not others:
        pytest.skip("no toolkit is installed (benchmarks/peers/install.sh)")
    results = race.run_race(others, work, windows=1)
    assert len(results) == len(others) * len(race.BEAMS)
    for result in results:
        assert result.texts == work.references, result.name


def test_a_turn_tells_times_and_writes_texts(work: DecodingWork, tmp_path: Path):
    requests: list[int] = []

    def decode(texts: list[str], beam: int) -> list[str]:
        requests.append(len(texts))
        return [text.upper() for text in texts]

    answer = measure_turn(decode, work.sources, beam=5, sentences=20, singles=3, output=str(tmp_path / "a"))
    assert requests == [20, 1, 1, 1]
    assert len(answer["latencies"]) == 3
    assert answer["seconds"] > 0
    assert (tmp_path / "a").read_text("utf-8").startswith('["ANT ANT", "ANT BEE"')


def test_a_batch_has_sentences_of_like_length():
    sentences = ["a" * (n * 7 % 11) for n in range(30)]
    cut = list(cut_by_length(sentences, 8))
    assert [len(rows) for rows in cut] == [8, 8, 8, 6]
    lengths = [len(sentences[row]) for rows in cut for row in rows]
    assert lengths == sorted(map(len, sentences), reverse=True)


def test_sources_and_references_of_different_lengths(tmp_path: Path):
    (tmp_path / "a.en").write_text("one\ntwo\n")
    (tmp_path / "a.de").write_text("eins\n")
    with pytest.raises(DataError) as caught:
        list(layout.read_pairs(tmp_path / "a.en", tmp_path / "a.de"))
    assert f"{tmp_path}/a.en has 2 lines but {tmp_path}/a.de has 1" in str(caught.value)


def test_generated_sentences_have_no_references(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SACCADE_DATA", raising=False)
    pairs, corpus = layout.choose_pairs(None, None)
    text, reference = next(pairs)
    assert (corpus, reference) == ("generated", None)
    assert len(text.split()) > 2
