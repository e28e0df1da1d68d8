"""The door: `saccade.__all__` is what we promise to keep."""

import subprocess
import sys

import pytest

import saccade


def test_the_public_names_are_sorted() -> None:
    assert saccade.__all__ == sorted(saccade.__all__)
    assert dir(saccade) == saccade.__all__


@pytest.mark.parametrize("name", saccade.__all__)
def test_a_public_name_is_importable_and_documented(name: str) -> None:
    value = getattr(saccade, name)
    assert name.startswith("__") or value.__doc__


def test_every_error_is_a_public_name() -> None:
    for error in saccade.SaccadeError.__subclasses__():
        if error.__module__ == "saccade.errors":
            assert error.__name__ in saccade.__all__


def test_another_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'saccade' has no attribute 'lod'"):
        saccade.lod  # noqa: B018


def test_the_door_loads_nothing_heavy() -> None:
    code = "import saccade, sys; print(*{'torch', 'numpy', 'sentencepiece', 'rich'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "\n"
