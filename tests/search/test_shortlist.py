"""Shortlists: what may be written for a source, and what is refused as one."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from saccade.errors import ModelError
from saccade.search.shortlist import Shortlist

ALWAYS, OFFSETS, TOKENS = [0, 1, 2, 3, 5], [0, 2, 2, 5], [9, 4, 7, 9, 8]


def made(always: list[int] = ALWAYS, offsets: list[int] = OFFSETS, tokens: list[int] = TOKENS) -> Shortlist:
    return Shortlist(np.array(always, np.int32), np.array(offsets, np.int64), np.array(tokens, np.int32))


def test_candidates_are_those_of_every_source_token_each_once_in_order():
    shortlist = made()
    assert shortlist.candidates([1]).tolist() == ALWAYS
    assert shortlist.candidates([0]).tolist() == [0, 1, 2, 3, 4, 5, 9]
    assert shortlist.candidates([2, 0, 2, 1]).tolist() == [0, 1, 2, 3, 4, 5, 7, 8, 9]
    assert shortlist.candidates([]).tolist() == ALWAYS


def test_it_is_stored_as_it_is(tmp_path: Path):
    made().save(tmp_path / "list")
    loaded = Shortlist.load(tmp_path / "list", 3, 10)
    assert [array.tolist() for array in (loaded.always, loaded.offsets, loaded.tokens)] == [ALWAYS, OFFSETS, TOKENS]


@pytest.mark.parametrize(
    ("shortlist", "problem"),
    [
        (made(offsets=[0, 5]), "it has 1 source tokens instead of 3"),
        (made(offsets=[0, 4, 2, 5]), "its offsets do not divide the tokens among the source tokens"),
        (made(offsets=[1, 2, 2, 5]), "its offsets do not divide the tokens among the source tokens"),
        (made(offsets=[0, 2, 2, 6]), "its offsets do not divide the tokens among the source tokens"),
        (made(tokens=[9, 4, 7, 9, 10]), "some of its tokens are not among the 10 of the target vocabulary"),
        (made(always=[-1, 0]), "some of its tokens are not among the 10 of the target vocabulary"),
    ],
)
def test_what_does_not_fit_the_model_is_refused(shortlist: Shortlist, problem: str, tmp_path: Path):
    shortlist.save(tmp_path / "list")
    with pytest.raises(ModelError) as caught:
        Shortlist.load(tmp_path / "list", 3, 10)
    assert str(caught.value) == (
        f"{tmp_path / 'list'} must list target tokens for each source token of this model, but {problem}. "
        "Copy the whole model directory again, or import the model again."
    )


def test_other_arrays_are_refused(tmp_path: Path):
    arrays = {"always": made().always, "offsets": made().offsets, "tokens": made().tokens}
    others = [
        (arrays | {"tokens": made().tokens.astype(np.float32)}, "it has no list of int32 called tokens"),
        (arrays | {"always": made().always[None]}, "it has no list of int32 called always"),
        ({name: arrays[name] for name in ("always", "tokens")}, "it has no list of int64 called offsets"),
        (arrays | {"more": made().always}, "it also has more"),
    ]
    for changed, problem in others:
        save_file(changed, tmp_path / "list")
        with pytest.raises(ModelError, match=problem):
            Shortlist.load(tmp_path / "list", 3, 10)
    (tmp_path / "list").write_bytes((tmp_path / "list").read_bytes()[:-1])
    with pytest.raises(ModelError, match="must be a whole safetensors file"):
        Shortlist.load(tmp_path / "list", 3, 10)
