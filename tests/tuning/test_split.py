"""Every pair is in one part only, none of it leaks into what is measured, and the parts can be read again."""

import random
from pathlib import Path

from saccade.data.corpus import Example
from saccade.data.near_duplicates import NEAR, similarity, trigrams
from saccade.data.settings import CorpusSettings
from saccade.tuning.split import MOST_GENERAL, Split, split_memory


def sentences(number: int, seed: int) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(3, 7))) for _ in range(400)]
    sources = [" ".join(draw.choices(words, k=draw.randint(4, 9))) for _ in range(number)]
    return [(source, source.upper()) for source in sources]


def write(path: Path, pairs: list[tuple[str, str]]) -> CorpusSettings:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return CorpusSettings(file=path)


def test_parts_are_apart(tmp_path: Path):
    pairs = sentences(600, 1)
    near = [(f"{source} x", target) for source, target in pairs[:40]]
    memory = write(tmp_path / "memory.tsv", [*pairs, *near, *pairs[:9], ("", "empty"), ("a b", "a" * 99)])
    general = write(tmp_path / "general.tsv", [*sentences(50, 2), *pairs[:3], ("blank", " ")])
    replay = write(tmp_path / "replay.tsv", [*sentences(50, 2), *sentences(6200, 3), *pairs])
    split, notes = split_memory([memory], [general], [replay], seed=1)
    parts = {name: {pair.source for pair in getattr(split, name)} for name in Split.__dataclass_fields__}
    for name, sources in parts.items():
        assert sources, name
        assert not [other for other in parts if other != name and parts[other] & sources], name
    learned = [trigrams(pair.source) for pair in split.train]
    for pair in (*split.valid, *split.test):
        assert max(similarity(trigrams(pair.source), each) for each in learned) < NEAR
    assert len(split.valid) + len(split.test) == 64
    assert len(split.general) == 50
    assert len(split.replay) == 10 * len(split.train)
    assert parts["replay"] <= {source for source, _ in sentences(6200, 3)}
    assert notes[0].startswith(
        "651 pairs were read; left out were 1 because a side is empty, 1 because the sides differ"
    )
    assert notes[1] == "Skipped 3 sentences of the general set: they are in the memory."
    assert split == split_memory([memory], [general], [replay], seed=1)[0]


def test_parts_are_read_as_they_were_written(tmp_path: Path):
    split = Split([Example("a", "ä")], [Example("b\u2028c", "“”")], [Example("d", "e")], [], [Example("\x85f", "g")])
    split.write(tmp_path)
    assert Split.read(tmp_path) == split


def test_a_large_general_set_is_sampled_evenly(tmp_path: Path):
    memory, general = write(tmp_path / "m.tsv", sentences(200, 1)), write(tmp_path / "g.tsv", sentences(5000, 2))
    split, _ = split_memory([memory], [general], [], seed=1)
    assert MOST_GENERAL / 2 < len(split.general) <= MOST_GENERAL
    assert split.replay == []


def test_replay_is_sampled_from_all_of_its_text(tmp_path: Path):
    memory, replay = write(tmp_path / "m.tsv", sentences(120, 1)), write(tmp_path / "r.tsv", sentences(4000, 2))
    split, _ = split_memory([memory], [], [replay], seed=1)
    places = {source: row for row, (source, _) in enumerate(sentences(4000, 2))}
    rows = [places[pair.source] for pair in split.replay]
    assert rows == sorted(rows)
    assert 1800 < sum(rows) / len(rows) < 2200
