"""The exact words a user reads when episodes, or the machines that answer in them, do not go together."""

import tomllib
from pathlib import Path

import pytest

from saccade import errors, settings
from saccade.tasks.memory.settings import MemoryRecipe

COPY = '[task]\nkind = "copy"\n'
TURING = '[model]\nkind = "turing"\n'


def problems_of(task: str, model: str = TURING) -> list[str]:
    table = tomllib.loads(f'run = "run"\n{task}\n{model}')
    with pytest.raises(errors.SettingsError) as caught:
        settings.parse(MemoryRecipe, table, origin="recipe.toml", base=Path("/recipes"))
    return caught.value.problems


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ('kind = "copy"\nbits = 0', "bits must be at least 1, not 0"),
        ('kind = "copy"\nbatch = 0', "batch must be at least 1, not 0"),
        ('kind = "copy"\nshortest = 9\nlongest = 8', "longest must be at least shortest = 9, not 8"),
        ('kind = "repeat-copy"\nfewest = 3\nmost = 2', "most must be at least fewest = 3, not 2"),
        ('kind = "repeat-copy"\nscale = 1', "scale must be at least 2, not 1"),
        ('kind = "recall"\nfewest = 1', "fewest must be at least 2, not 1"),
        (
            'kind = "recall"\nbits = 1\nlength = 2',
            "most must not exceed the 2^(bits · length) = 4 items that differ, but is 6",
        ),
        ('kind = "priority-sort"\nwanted = 21', "given must be at least wanted = 21, not 20"),
        ('kind = "ngrams"\nlength = 6', "length must be above order, but is 6 with order 6"),
        ('kind = "ngrams"\norder = 0', "order must be from 1 to 20, not 0"),
    ],
)
def test_a_task(given: str, problem: str):
    assert problems_of(f"[task]\n{given}") in ([f"task.{problem}."], [f"task: {problem}"])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ('kind = "turing"\nrows = 0', "rows must be from 1 to 65,536, not 0"),
        ('kind = "turing"\nread_heads = 0', "read_heads must be from 1 to 65,536, not 0"),
        ('kind = "turing"\nwrite_heads = 0', "write_heads must be from 1 to 65,536, not 0"),
        ('kind = "turing"\nreach = -1', "reach must be at least 0, not -1"),
        (
            'kind = "turing"\nrows = 6\nreach = 3',
            "reach must leave shifts apart, at most 2 on 6 rows, but is 3",
        ),
        ('kind = "lstm"\nlayers = 0', "layers must be from 1 to 1,000, not 0"),
    ],
)
def test_a_model(given: str, problem: str):
    assert problems_of(COPY, f"[model]\n{given}") in ([f"model.{problem}."], [f"model: {problem}"])


def test_a_model_of_another_task():
    (problem,) = problems_of(COPY, '[model]\nkind = "hierarchical"')
    assert problem == 'model.kind must be "turing" or "lstm", not "hierarchical".'


def test_a_memory_that_is_too_small():
    import numpy as np

    from saccade.tasks.memory.episodes import draw
    from saccade.tasks.memory.model import Turing
    from saccade.tasks.memory.settings import CopySettings, TuringSettings

    task = CopySettings(bits=2, longest=40)
    model = Turing(TuringSettings(d_controller=4, rows=32, d_row=4), 3, 2)
    with pytest.raises(errors.DataError) as caught:
        model(draw(np.random.default_rng(1), task, 2))
    assert str(caught.value) == (
        "A memory needs a row for each of the 40 things that an episode wants remembered, but has 32. Train a machine with model.rows = 40 or more, or give it shorter episodes."
    )
