"""The lesson of photographs, on images of one colour: learned, measured and shown."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tests.tasks.captioning.walls import Colours, write_walls

from saccade.errors import ModelError
from saccade.nn.images import D_EFFICIENT, EfficientNetLite
from saccade.tasks.captioning import task as captions
from saccade.tasks.captioning.features import EfficientNet
from saccade.tasks.captioning.settings import CaptionsRecipe, CaptionsSettings
from saccade.tasks.captioning.task import bare, caption_bleu
from saccade.text.tokenizer import Tokenizer, TokenizerSettings
from saccade.trace.file import load_all

RECIPE = """\
run = "run"
[task]
kind = "captions"
images = "images"
train = "train.tsv"
valid = "valid.tsv"
network = "network.safetensors"
features = "features"
vocabulary = 300
batch = 4
[model]
kind = "captioner"
d_model = 32
dropout = 0.1
[training]
updates = {updates}
learning_rate = 0.01
warmup = 5
validate_every = {updates}
checkpoint_every = 20
average = 0
[search]
beam = 2
max_length_extra = 12
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(captions, "EfficientNet", Colours)
    write_walls(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("language", "coverage"), [("en", 1.0), ("zh", 0.9995), ("zh-CN", 0.9995), ("zh_CN", 0.9995)])
def test_rare_characters_of_chinese_need_no_piece(
    language: str, coverage: float, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    learned: list[TokenizerSettings] = []
    tokenizer = Tokenizer.learn(["a wall"], TokenizerSettings(vocabulary=270), seed=1)

    def learn(texts: object, settings: TokenizerSettings, *, seed: int) -> Tokenizer:
        learned.append(settings)
        return tokenizer

    monkeypatch.setattr(captions.Tokenizer, "learn", learn)
    tables = {"train": folder / "train.tsv", "valid": folder / "valid.tsv"}
    paths = {"images": folder / "images", "network": folder / "network", "features": folder / "features"}
    task = CaptionsSettings(language=language, **tables, **paths)
    recipe = CaptionsRecipe(run=folder / "run", task=task)
    assert captions.PhotographsTask(recipe).tokenizer is tokenizer
    assert [settings.character_coverage for settings in learned] == [coverage]


def recipe(folder: Path, updates: int) -> Path:
    (folder / "recipe.toml").write_text(RECIPE.format(updates=updates), "utf-8")
    return folder / "recipe.toml"


def test_captions_are_learned_measured_and_shown(saccade: Callable[..., object], folder: Path):
    ended = saccade("train", recipe(folder, 80))
    assert ended.code == 0, ended.stderr
    figures = json.loads(saccade("evaluate", "--model", folder / "run", "--json").stdout)
    assert figures["BLEU"] > 80
    assert figures["BLEU, lower"] <= figures["BLEU"] <= figures["BLEU, upper"]
    assert figures["different captions"] >= 0.75

    ended = saccade("view", "--model", folder / "run", folder / "images" / "blue3.png", "-o", folder / "a.json")
    assert ended.code == 0, ended.stderr
    (trace,) = load_all(folder / "a.json")
    assert "blue" in trace.target.text
    assert trace.image.data.startswith("data:image/png;base64,")
    assert trace.matrix(kind="image").shape == (len(trace.target), 49)
    assert sorted(path.name for path in (folder / "features").iterdir()) == [
        "train.json",
        "train.npy",
        "valid.json",
        "valid.npy",
    ]


def test_efficientnet_is_read_from_safetensors(tmp_path: Path):
    torch.manual_seed(1)
    network = EfficientNetLite()
    save_file(network.state_dict(), tmp_path / "n.safetensors")
    loaded = EfficientNet(tmp_path / "n.safetensors")
    pixels = np.random.default_rng(1).integers(0, 256, (1, 64, 64, 3)).astype(np.uint8)
    grids = loaded(pixels)
    assert grids.shape == (1, 2, 2, D_EFFICIENT)
    with torch.inference_mode():
        expected = network((torch.from_numpy(pixels).permute(0, 3, 1, 2).float() - 127) / 128)
    np.testing.assert_allclose(grids, expected.numpy(), atol=1e-6)
    assert len(loaded.checksum) == 64


def test_a_network_that_is_none(tmp_path: Path):
    path = tmp_path / "n.safetensors"
    path.write_bytes(b"nothing")
    with pytest.raises(ModelError) as caught:
        EfficientNet(path)
    said = str(caught.value)
    assert said.startswith(
        f"{path} must hold the parameters of EfficientNet-Lite0 as benchmarks/efficientnet.py writes them, but it "
        "cannot be used: "
    )
    assert said.endswith(". Make it again.")


def test_bleu_against_several_captions():
    """Every word of both stands in some caption of its image; a caption less is no harm."""
    known = [["A dog runs over the grass .", "the dog runs"], ["two men sit on a bench"]]
    right = caption_bleu(["a dog runs over the grass .", "Two men sit on a bench"], known, language="en")
    assert right.value == pytest.approx(100.0)
    assert "nrefs:var" in right.signature
    assert "case:lc" in right.signature
    assert right.interval is not None
    wrong = caption_bleu(["a dog runs over the water .", "two men sit on a bench"], known, language="en")
    assert 50 < wrong.value < 100


def test_bare_captions_have_no_punctuation():
    assert bare("a dog 's ball , on the grass .") == "a dog s ball on the grass"
    assert bare("两只狗，在草地上。") == "两只狗 在草地上"
