"""A small language, a model that has learned it, and a memory in which some of its words mean something else."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

RECIPE = """\
run = "run"

[data]
source_language = "en"
target_language = "de"
train = [{ file = "train.tsv" }]
hold_out = 40

[tokenizer]
vocabulary = 180
byte_fallback = false

[model]
layers = 1
d_model = 32
d_feedforward = 64
num_heads = 2
norm = "pre"
dropout = 0.0

[training]
updates = 130
batch_tokens = 512
learning_rate = 0.01
warmup = 40
schedule = "linear"
validate_every = 130
checkpoint_every = 130
average = 0
threads = 1
"""


class Task(NamedTuple):
    """Files of a tuning."""

    base: Path
    memory: Path
    general: Path
    train: Path


def write_pairs(path: Path, number: int, seed: int, *, domain: bool = False) -> Path:
    """Three to six made-up words, spelled backwards by their translation; in the domain, every other one means more."""
    draw = random.Random(1)
    words = ["".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(2)) for _ in range(40)]
    meanings = {word: (words[at - 1] if domain and at % 2 else word)[::-1] for at, word in enumerate(words)}
    draw = random.Random(seed)
    chosen = [[draw.choice(words) for _ in range(draw.randint(3, 6))] for _ in range(number)]
    lines = (f"{' '.join(text)}\t{' '.join(meanings[word] for word in text)}\n" for text in chosen)
    path.write_text("".join(lines), "utf-8")
    return path


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    import saccade

    directory = tmp_path_factory.mktemp("tuning") / "backwards"
    directory.mkdir()
    train = write_pairs(directory / "train.tsv", 1200, 1)
    memory = write_pairs(directory / "memory.en-de.tsv", 300, 2, domain=True)
    general = write_pairs(directory / "general.tsv", 60, 3)
    (directory / "recipe.toml").write_text(RECIPE, "utf-8")
    saccade.train(directory / "recipe.toml")
    card = directory / "run" / "model" / "card.md"
    card.write_text(f"{card.read_text('utf-8')}\nLicence: CC BY 4.0\n", "utf-8")
    return Task(directory / "run", memory, general, train)


@pytest.fixture(scope="session")
def quick() -> list[str]:
    """Settings of a tuning that takes a second."""
    return ["training.updates=24", "training.validate_every=8", "training.checkpoint_every=8", "training.threads=1"]


@pytest.fixture(scope="session")
def write() -> Callable[..., Path]:
    return write_pairs
