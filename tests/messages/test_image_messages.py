"""Each mistake with images and captions: what must hold, what came, what to do."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.errors import DataError, MissingDependency, SaccadeError
from saccade.tasks.captioning import images
from saccade.tasks.captioning.features import features, open_features
from saccade.tasks.captioning.images import pixels, read_captions


def _message(act: Callable[[], object], kind: type[SaccadeError] = DataError) -> str:
    with pytest.raises(kind) as caught:
        act()
    return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "images"
    made.mkdir()
    Image.new("RGB", (8, 8)).save(made / "a.png")
    return made


def _table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "train.tsv"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "what"), [("a.png A dog", "has no tab"), ("\tA dog", "has no name"), ("a.png\t ", "has no caption")]
)
def test_a_line_without_its_parts(folder: Path, tmp_path: Path, line: str, what: str):
    path = _table(tmp_path, f"a.png\tA dog\n{line}\n")
    assert _message(lambda: read_captions(path, folder)) == (
        f"Every line of {path} must hold the name of an image, a tab and a caption, but line 2 {what}. Put it in, or remove the line."
    )


def test_a_caption_without_its_image(folder: Path, tmp_path: Path):
    path = _table(tmp_path, "a.png\tA dog\nb.png\tA cat\n")
    assert _message(lambda: read_captions(path, folder)) == (
        f"Every caption must have its image, but {path}, line 2 names 'b.png', which is not in {folder}. Add the image, or remove the line."
    )


def test_an_unknown_extension(folder: Path, tmp_path: Path):
    path = _table(tmp_path, "a.tiff\tA dog\n")
    assert _message(lambda: read_captions(path, folder)) == (
        f"The name of an image must end in .jpg, .jpeg, .png, .webp, .bmp or .gif, but {path}, line 1 names 'a.tiff'. Convert the image, or correct the name."
    )


def test_an_image_outside_the_folder(folder: Path, tmp_path: Path):
    Image.new("RGB", (8, 8)).save(tmp_path / "b.png")
    path = _table(tmp_path, "../b.png\tA dog\n")
    assert _message(lambda: read_captions(path, folder)) == (
        f"The name of an image must stay in its folder, but {path}, line 1 names '../b.png'. Put the image into the folder, and correct the name."
    )


def test_no_captions_at_all(folder: Path, tmp_path: Path):
    path = _table(tmp_path, "")
    assert _message(lambda: read_captions(path, folder)) == (
        f"{path} must hold at least one image with a caption, but it holds none. Check the file."
    )


@pytest.mark.parametrize(("name", "what"), [("nowhere", "it does not exist"), ("train.tsv", "it is a file")])
def test_a_folder_that_is_none(folder: Path, tmp_path: Path, name: str, what: str):
    path = _table(tmp_path, "a.png\tA dog\n")
    assert _message(lambda: read_captions(path, tmp_path / name)) == (
        f"{tmp_path / name} must be a folder of images, but {what}. Name the folder that the images lie in."
    )


@pytest.mark.parametrize("text", ["{", "[]", '{"images": {}}', "1"])
def test_json_of_another_form(folder: Path, tmp_path: Path, text: str):
    path = tmp_path / "dataset.json"
    path.write_text(text, "utf-8")
    assert _message(lambda: read_captions(path, folder)) == (
        f'{path} must be JSON with a list of "images", as Karpathy\'s splits are, but it is not. Use such a file, or a table: image name, tab, caption.'
    )


@pytest.mark.parametrize(
    "image", [{"filename": "a.png", "split": "train"}, {"filename": 1, "split": "train", "sentences": []}, "a.png"]
)
def test_json_with_an_image_of_another_form(folder: Path, tmp_path: Path, image: object):
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps({"images": [image]}), "utf-8")
    assert _message(lambda: read_captions(path, folder)) == (
        f"Every image of {path} must have a filename, a split and sentences with their raw text, but image 1 has not. "
        "Use the JSON of Karpathy's splits, or a table: image name, tab, caption."
    )


def test_json_with_an_image_that_nobody_described(folder: Path, tmp_path: Path):
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps({"images": [{"filename": "a.png", "split": "train", "sentences": []}]}), "utf-8")
    assert _message(lambda: read_captions(path, folder)) == (
        f"Every image of {path} must have a caption, but a.png (image 1) has none. Add one, or remove the image."
    )
    path.write_text(
        json.dumps({"images": [{"filename": "a.png", "split": "test", "sentences": [{"raw": "x"}]}]}), "utf-8"
    )
    assert _message(lambda: read_captions(path, folder, split="val")) == (
        f'{path} must hold at least one image with a caption of the split "val", but it holds none. Check the file.'
    )


def test_an_image_that_was_cut_short(folder: Path):
    random = np.random.default_rng(1).integers(0, 255, (64, 64, 3)).astype(np.uint8)
    Image.fromarray(random).save(folder / "b.png")
    whole = (folder / "b.png").read_bytes()
    (folder / "b.png").write_bytes(whole[: len(whole) // 2])
    said = _message(lambda: pixels(folder / "b.png", 8))
    assert said.startswith(f"{folder / 'b.png'} must be an image that can be decoded, but it cannot: ")
    assert said.endswith(". Copy it again, or remove it and its captions.")


def test_a_text_that_calls_itself_an_image(folder: Path):
    (folder / "b.png").write_text("no image", "utf-8")
    assert _message(lambda: pixels(folder / "b.png", 8)) == (
        f"{folder / 'b.png'} must be an image that can be decoded, but it cannot: cannot identify image file '{folder / 'b.png'}'. "
        "Copy it again, or remove it and its captions."
    )


def test_an_image_that_claims_too_many_pixels(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(images, "MOST_PIXELS", 63)
    assert _message(lambda: pixels(folder / "a.png", 4)) == (
        f"An image must have at most 63 pixels, but {folder / 'a.png'} claims 8 × 8. Make it smaller; 4 × 4 is all that is used."
    )


def test_images_without_pillow(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(images, "find_spec", lambda name: None)
    assert _message(lambda: pixels(folder / "a.png", 4), MissingDependency) == (
        'Images need Pillow, which is not installed. Install it with: pip install "saccade[images]"'
    )


def _features(path: Path, folder: Path) -> None:
    features(path, [folder / "a.png"], lambda given: np.ones((len(given), 1, 1, 2), np.float32), size=8, network="n")


def test_features_that_were_changed(folder: Path, tmp_path: Path):
    path = tmp_path / "f.npy"
    _features(path, folder)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert _message(lambda: open_features(path)) == (
        f"{path} must be as it was written, but its checksum differs from that of its description. Remove both; they are made again."
    )


def test_features_that_are_none(tmp_path: Path):
    path = tmp_path / "f.npy"
    path.write_bytes(b"")
    assert _message(lambda: open_features(path)) == (
        f"{path} must be a file of image features with its description beside it, but it is not, or of another version. "
        "Remove both; they are made again."
    )
