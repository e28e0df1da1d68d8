"""Readers of images with captions, and features kept on disk."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.tasks.captioning.batch import CaptionCorpus
from saccade.tasks.captioning.features import Features, features, open_features
from saccade.tasks.captioning.images import Captioned, form, pixels, read_captions
from saccade.text.tokenizer import BOS, EOS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    images = tmp_path / "images"
    images.mkdir()
    for number, name in enumerate(("a.png", "b.jpg", "c.PNG")):
        shade = (40 * number, 100, 200)
        Image.new("RGB", (30 + number, 20), shade).save(images / name, "JPEG" if name == "b.jpg" else "PNG")
    return images


def test_a_table_of_captions(folder: Path, tmp_path: Path):
    table = tmp_path / "train.tsv"
    table.write_text("b.jpg\tA dog .\na.png\tA cat\tand more\nb.jpg\t 两只狗。 \n", "utf-8")
    assert read_captions(table, folder) == [
        Captioned(folder / "b.jpg", ("A dog .", "两只狗。")),
        Captioned(folder / "a.png", ("A cat\tand more",)),
    ]


def test_the_json_of_karpathys_splits(folder: Path, tmp_path: Path):
    """Of COCO, the rest of the validation images ("restval") is learned from."""
    given = [
        {"filename": "a.png", "split": "train", "sentences": [{"raw": "One"}, {"raw": " "}, {"raw": "Two "}]},
        {"filename": "b.jpg", "split": "val", "sentences": [{"raw": "Three"}]},
        {"filename": "c.PNG", "split": "restval", "sentences": [{"raw": "Four"}], "imgid": 3},
    ]
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps({"images": given, "dataset": "toy"}), "utf-8")
    train = read_captions(path, folder, split="train")
    assert [(each.image.name, each.captions) for each in train] == [("a.png", ("One", "Two")), ("c.PNG", ("Four",))]
    assert [each.captions for each in read_captions(path, folder, split="val")] == [("Three",)]


def test_images_of_any_form_become_square_and_rgb(folder: Path, tmp_path: Path):
    """Half transparent grey, a palette, and black and white: all in three colours."""
    for mode, colour in (("LA", (90, 128)), ("P", 3), ("1", 1), ("CMYK", (1, 2, 3, 4))):
        path = tmp_path / f"{mode}.{'jpg' if mode == 'CMYK' else 'png'}"
        Image.new(mode, (9, 50), colour).save(path)
        assert pixels(path, 16).shape == (16, 16, 3)
    assert pixels(folder / "a.png", 8)[0, 0].tolist() == [0, 100, 200]
    assert form(folder / "a.png") == 1.5


def describes(images: np.ndarray) -> np.ndarray:
    """A network that tells the mean colour of each quarter."""
    quarters = images.reshape(len(images), 2, 4, 2, 4, 3).mean(axis=(2, 4))
    return (quarters / 255).astype(np.float32)


def test_features_are_computed_once(folder: Path, tmp_path: Path):
    images, path = sorted(folder.iterdir()), tmp_path / "cache" / "train.npy"
    done: list[int] = []
    made = features(path, images, describes, size=8, network="n", advanced=done.append)
    assert done == [3]
    assert made.grids.shape == (3, 2, 2, 3)
    expected = describes(np.stack([pixels(image, 8) for image in images]))
    np.testing.assert_allclose(made.of([image.name for image in images]), expected, atol=1e-3)

    def never(images: np.ndarray) -> np.ndarray:
        raise AssertionError("they are there")

    again = features(path, images[:2][::-1], never, size=8, network="n")
    np.testing.assert_array_equal(again.of(["b.jpg"]), made.of(["b.jpg"]))
    assert sorted(file.name for file in path.parent.iterdir()) == ["train.json", "train.npy"]


@pytest.mark.parametrize("change", [{"size": 16}, {"network": "another"}])
def test_features_of_something_else_are_computed_anew(folder: Path, tmp_path: Path, change: dict[str, object]):
    images, path, calls = sorted(folder.iterdir()), tmp_path / "train.npy", []

    def counts(given: np.ndarray) -> np.ndarray:
        calls.append(given.shape[1])
        return np.zeros((len(given), 1, 1, 2), np.float32)

    first = {"size": 8, "network": "n"}
    features(path, images[:2], counts, **first)
    features(path, images[:2], counts, **first | change)
    assert len(calls) == 2
    features(path, images, counts, **first | change)
    assert len(calls) == 3, "one image was new"


def test_a_batch_is_a_pure_function_of_its_number(folder: Path):
    stored = Features(np.arange(7 * 4).reshape(7, 1, 1, 4).astype(np.float16), [f"{name}.png" for name in range(7)])
    captions = [[[4 + image], [5, 6]][: 1 + image % 2] for image in range(7)]
    corpus = CaptionCorpus(stored, [f"{name}.png" for name in range(7)], captions)
    assert corpus.num_batches(3) == 2
    epoch = [corpus.chosen(number, images=3, seed=1) for number in (0, 1)]
    assert len({image for batch in epoch for image in batch}) == 6
    assert corpus.chosen(1, images=3, seed=1) == epoch[1]
    assert [corpus.chosen(number, images=3, seed=1) for number in (2, 3)] != epoch

    batch = corpus.of([2, 3])
    assert batch.images[:, 0, 0].tolist() == [[8, 9, 10, 11], [12, 13, 14, 15]]
    assert batch.image_of.tolist() == [0, 1, 1]
    assert batch.prefix.tolist() == [[BOS, 6, 0], [BOS, 7, 0], [BOS, 5, 6]]
    assert batch.target[2].tolist() == [5, 6, EOS]
    assert batch.num_targets == 7


def test_stored_features_are_opened_without_the_images(folder: Path, tmp_path: Path):
    path = tmp_path / "f.npy"
    features(path, sorted(folder.iterdir()), describes, size=8, network="n")
    assert open_features(path).place == {"a.png": 0, "b.jpg": 1, "c.PNG": 2}
