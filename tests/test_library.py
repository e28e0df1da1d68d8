"""Models as files: what they become in other formats."""

from pathlib import Path

import numpy as np
import pytest

import saccade
from saccade.directory import ModelDirectory


@pytest.fixture(scope="module")
def half(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("half") / "model"
    return saccade.export_model(trained / "run", output, to="saccade", quantize="float16")


def test_a_model_of_16_bits_takes_half_the_space(trained: Path, half: Path):
    whole, small = ((path / "model.safetensors").stat().st_size for path in (trained / "run" / "model", half))
    assert small < 0.6 * whole
    for name, values in ModelDirectory.open(half).parameters().items():
        own = ModelDirectory.open(trained / "run").parameters()[name]
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, own.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("engine", ["torch", "ctranslate2", "auto"])
def test_it_translates_as_before(trained: Path, half: Path, engine: str):
    texts = ["cat lion", "dog", "bee ant fox"]
    whole, small = (saccade.load(path, engine=engine).translate(texts) for path in (trained / "run", half))
    assert [one.text for one in whole] == [one.text for one in small]
    assert [one.score for one in whole] == pytest.approx([one.score for one in small], abs=0.01)


def test_its_attention_can_be_looked_at(half: Path):
    attention = saccade.load(half).translate("cat lion", attention=True).attention
    assert attention is not None
    np.testing.assert_allclose(attention.matrix().sum(axis=-1), 1.0, atol=1e-4)


def test_a_type_that_a_format_has_not_is_refused(trained: Path, tmp_path: Path):
    with pytest.raises(saccade.ModelError, match='quantize must be float32 for marian, not "int8"'):
        saccade.export_model(trained / "run", tmp_path / "out", to="marian", quantize="int8")
    with pytest.raises(saccade.ModelError, match='must be float32 or float16 for saccade, not "int8"'):
        saccade.export_model(trained / "run", tmp_path / "out", to="saccade", quantize="int8")
    assert not (tmp_path / "out").exists()
