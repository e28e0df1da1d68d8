"""Photographs for tests: walls of one colour, and a network that sees nothing but colours."""

from pathlib import Path

import numpy as np
from PIL import Image

from saccade.nn.images import D_EFFICIENT
from saccade.tasks.captioning.features import EfficientNet

COLOURS = {"red": (250, 0, 0), "green": (0, 250, 0), "blue": (0, 0, 250), "white": (250, 250, 250)}


class Colours(EfficientNet):
    """In its place: the mean colour of each cell, spread over as many features."""

    def __init__(self, path: Path) -> None:
        spread = np.random.default_rng(1).normal(size=(3, D_EFFICIENT))
        self.spread = spread.astype(np.float32)
        self.checksum = "colours"

    def __call__(self, pixels: np.ndarray) -> np.ndarray:
        cells = pixels.reshape(len(pixels), 7, 32, 7, 32, 3).mean(axis=(2, 4)) / 255
        return (cells @ self.spread).astype(np.float32)


def write_walls(directory: Path) -> None:
    """`images`, with the captions of twelve of them in train.tsv and of four in valid.tsv."""
    (directory / "images").mkdir()
    lines: dict[str, list[str]] = {"train": [], "valid": []}
    for name, colour in COLOURS.items():
        for number, split in enumerate(("train", "train", "train", "valid")):
            shade = tuple(max(0, part - 9 * number) for part in colour)
            Image.new("RGB", (40, 30), shade).save(directory / "images" / f"{name}{number}.png")
            lines[split] += [f"{name}{number}.png\tA {name} wall .", f"{name}{number}.png\ta wall that is {name} ."]
    for split, captions in lines.items():
        (directory / f"{split}.tsv").write_text("\n".join(captions) + "\n", "utf-8")
