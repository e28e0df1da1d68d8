"""Systems of known quality: references with words dropped, exchanged and doubled."""

import random
from typing import NamedTuple

import pytest

WORDS = (
    *("the", "a", "red", "old", "dog", "cat", "man", "woman", "child", "house"),
    *("street", "runs", "sleeps", "eats", "under", "over", "near", "with", "and", "in"),
)


class TestSet(NamedTuple):
    """What is compared in most tests here."""

    __test__ = False
    references: list[str]
    systems: dict[str, list[str]]


@pytest.fixture(scope="session")
def test_set() -> TestSet:
    draw = random.Random(1)
    lines = [" ".join(draw.choices(WORDS, k=draw.randint(2, 20))).capitalize() + draw.choice(".!?") for _ in range(50)]
    return TestSet(lines, {"worse": spoilt(lines, 0.4, 2), "better": spoilt(lines, 0.36, 3)})


def spoilt(lines: list[str], rate: float, seed: int) -> list[str]:
    """Every word is exchanged, doubled or dropped with this probability."""
    draw = random.Random(seed)
    ways = (lambda word: "", lambda word: f"{word} {word}", lambda word: draw.choice(WORDS))
    return [
        " ".join(draw.choice(ways)(word) if draw.random() < rate else word for word in line.split()) for line in lines
    ]
