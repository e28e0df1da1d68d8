from pathlib import Path

import pytest

from saccade.data.settings import CleaningSettings, CorpusSettings, DataSettings

A, B = Path("a"), Path("b")


def test_a_corpus_is_two_files_or_one() -> None:
    assert CorpusSettings(source=A, target=B).files == {"source": A, "target": B}
    assert CorpusSettings(file=A).files == {"file": A}


@pytest.mark.parametrize(
    ("given", "found"),
    [({}, "none"), ({"source": A}, "source"), ({"source": A, "file": B}, "source and file")],
)
def test_anything_else_is_refused(given: dict[str, Path], found: str) -> None:
    with pytest.raises(ValueError, match=f"needs source and target, or file alone, but has {found}"):
        CorpusSettings(**given)


def test_values_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="max_ratio must be at least 1, not nan"):
        CleaningSettings(max_ratio=float("nan"))
    with pytest.raises(ValueError, match="max_characters must be at least 1"):
        CleaningSettings(max_characters=0)
    for change, message in [
        ({"train": ()}, "a length of at least 1"),
        ({"hold_out": -1}, "hold_out must be at least 0, not -1"),
        ({"max_tokens": 0}, "max_tokens must be from 1 to"),
    ]:
        values = {
            "source_language": "en",
            "target_language": "de",
            "train": (CorpusSettings(file=A),),
        } | change
        with pytest.raises(ValueError, match=message):
            DataSettings(**values)  # type: ignore[arg-type]


def test_source_and_target_are_two_files():
    with pytest.raises(ValueError, match="must be two files, but both are"):
        CorpusSettings(source=Path("a.txt"), target=Path("a.txt"))
