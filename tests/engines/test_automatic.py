"""Which engine is taken, and what is refused with the reason and the way out."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import saccade
from saccade.directory import ModelDirectory
from saccade.engines.automatic import Automatic, load_engine
from saccade.engines.ctranslate2 import CTranslate2Engine
from saccade.engines.engine import Engine
from saccade.engines.torch import TorchEngine
from saccade.search.constraints import Constraints
from saccade.search.settings import SearchSettings

GNMT = SearchSettings(penalty="gnmt", beam=3)


@pytest.fixture(scope="module")
def model(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    return ModelDirectory.open(Path(shutil.copytree(trained / "run/model", tmp_path_factory.mktemp("own") / "model")))


@pytest.fixture(scope="module")
def recurrent(write_task, saccade, tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    """A model that CTranslate2 cannot run, hardly trained."""
    directory = tmp_path_factory.mktemp("recurrent")
    recipe = write_task(directory)
    text = recipe.read_text().replace("[model]\nlayers = 1", '[model]\nkind = "recurrent"\nlayers = 1')
    recipe.write_text(re.sub("(d_feedforward|num_heads) = .*\n", "", text))
    ended = saccade("train", recipe, "--set", "training.updates=2", "--set", "training.validate_every=2")
    assert ended.code == 0, ended.stderr
    return ModelDirectory.open(directory / "run")


def test_every_engine_keeps_the_protocol(model: ModelDirectory, recurrent: ModelDirectory):
    kinds = {"auto": Automatic, "ctranslate2": CTranslate2Engine, "torch": TorchEngine}
    for name, kind in kinds.items():
        engine = load_engine(model, name)
        assert type(engine) is kind
        assert isinstance(engine, Engine)
    assert type(load_engine(recurrent)) is TorchEngine


def test_attention_changes_neither_texts_nor_scores(model: ModelDirectory):
    texts = ["lion fox", "", "bee ant"]
    translator = saccade.load(model.path)
    plain, seen = translator.translate(texts), translator.translate(texts, attention=True)
    assert plain == seen
    assert seen[0].attention is not None
    assert seen[0].attention.log_prob == pytest.approx(seen[0].log_prob, abs=1e-4)
    assert translator.trace("lion", "Löwe").log_prob == pytest.approx(translator.score(["lion"], ["Löwe"])[0], abs=1e-4)


def test_auto_takes_torch_for_a_search_that_only_that_has(model: ModelDirectory):
    sources = model.tokenizers.source.encode_many(["lion fox", "bee ant"])
    assert load_engine(model).translate(sources, GNMT) == load_engine(model, "torch").translate(sources, GNMT)


@pytest.mark.parametrize(
    "settings",
    [
        SearchSettings(method="sampling", n_best=2),
        SearchSettings(method="diverse", beam=4, n_best=4),
        SearchSettings(min_length=9),
        SearchSettings(stopping="exact"),
    ],
    ids=["sampling", "diverse", "rules", "exact"],
)
def test_auto_takes_torch_for_every_search_of_its_own(model: ModelDirectory, settings: SearchSettings):
    sources = model.tokenizers.source.encode_many(["lion fox", "bee ant"])
    automatic, torch = load_engine(model), load_engine(model, "torch")
    assert automatic.translate(sources, settings) == torch.translate(sources, settings)


def test_auto_takes_torch_for_constraints_and_streams(model: ModelDirectory):
    sources = model.tokenizers.source.encode_many(["lion fox", "bee ant"])
    held = [Constraints(), Constraints(prefix=tuple(model.tokenizers.target.encode("Katze")))]
    automatic, torch = load_engine(model), load_engine(model, "torch")
    found = automatic.translate(sources, SearchSettings(), constraints=held)
    assert found == torch.translate(sources, SearchSettings(), constraints=held)
    assert model.tokenizers.target.decode(found[1][0].ids).startswith("Katze")
    greedy = SearchSettings(beam=1)
    assert tuple(automatic.stream(sources[0], greedy)) == torch.translate(sources[:1], greedy)[0][0].ids


def test_unknown_characters_are_spelled_in_bytes_by_both(trained: Path, write_task, saccade, tmp_path: Path):
    recipe = write_task(tmp_path)
    recipe.write_text(recipe.read_text().replace("byte_fallback = false", "byte_fallback = true\n"))
    ended = saccade("train", recipe, "--set", "tokenizer.vocabulary=400", "--set", "training.updates=20")
    assert ended.code == 0, ended.stderr
    lines = "🦊 lion\n\nß€ bee\n"
    found = {name: saccade("translate", "-m", tmp_path / "run", "--engine", name, stdin=lines) for name in ENGINES}
    assert found["ctranslate2"] == found["torch"]
    assert found["torch"].code == 0
    assert found["torch"].stdout.count("\n") == 3


ENGINES = ("ctranslate2", "torch")
WHY = {
    "weights": (
        "Weights were asked for, but CTranslate2 does not give those of every layer and head. "
        'Load the model with engine = "torch", or "auto", which takes torch for this alone.'
    ),
    "gnmt": (
        'search.penalty = "gnmt" is not known to CTranslate2, which divides by length^α. '
        'Use penalty = "length", or engine = "torch".'
    ),
    "device": 'device must be one that CTranslate2 can use on this machine, but "tpu" is not. Use device = "cpu".',
    "int8": (
        'compute must be "float32" with torch, not "int8", which CTranslate2 has, for Transformers only '
        '(this model is of kind = "transformer"): use engine = "ctranslate2", or leave compute out.'
    ),
    "compute": "compute must be one of float32, int8, not int4.",
    "engine": "engine must be one of auto, ctranslate2, torch, not jax.",
}
ASKED = {
    "weights": lambda path: saccade.load(path, engine="ctranslate2").translate("lion", attention=True),
    "gnmt": lambda path: saccade.load(path, engine="ctranslate2").translate("lion", search=GNMT),
    "device": lambda path: saccade.load(path, engine="ctranslate2", device="tpu"),
    "int8": lambda path: saccade.load(path, engine="torch", compute="int8"),
    "compute": lambda path: saccade.load(path, compute="int4"),
    "engine": lambda path: saccade.load(path, engine="jax"),
}


@pytest.mark.parametrize("what", WHY)
def test_what_cannot_be_done_is_refused(what: str, model: ModelDirectory):
    with pytest.raises(saccade.ModelError, match="^" + re.escape(WHY[what]) + "$"):
        ASKED[what](model.path)


@pytest.mark.parametrize("device", ["cuda:99", "tpu", "meta"])
@pytest.mark.parametrize("engine", ["auto", "torch"])
def test_a_device_that_is_not_there_is_refused(device: str, engine: str, model: ModelDirectory):
    with pytest.raises(saccade.ModelError) as told:
        saccade.load(model.path, device=device, engine=engine)
    assert f'"{device}" is not' in str(told.value)
    assert 'Use device = "cpu".' in str(told.value)


def test_tracing_loads_no_ctranslate2(trained: Path, tmp_path: Path):
    """Neither is it imported, nor is a converted model written beside the parameters."""
    path = Path(shutil.copytree(trained / "run/model", tmp_path / "model"))
    shutil.rmtree(path / "ct2", ignore_errors=True)
    code = (
        "import sys, saccade; print(saccade.load(sys.argv[1]).trace('lion', 'Löwe').target.text); "
        "print('ctranslate2' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["Löwe", "False"]
    assert not (path / "ct2").exists()
    saccade.load(path).translate("lion")
    assert (path / "ct2").exists(), "which translating writes"


def test_other_kinds_of_model_are_refused(recurrent: ModelDirectory):
    with pytest.raises(
        saccade.ModelError, match=r'^CTranslate2 runs Transformers only, but .* is of kind = "recurrent"'
    ):
        load_engine(recurrent, "ctranslate2")
    with pytest.raises(saccade.ModelError, match="which CTranslate2 has, for Transformers only"):
        load_engine(recurrent, compute="int8")
