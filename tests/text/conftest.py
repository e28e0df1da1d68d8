"""A small corpus of several scripts, and a tokenizer of each kind learned from it."""

from collections.abc import Callable
from functools import cache

import pytest

from saccade.text.tokenizer import Tokenizer, TokenizerSettings

LINES = [
    "A dog runs through the grass.",
    "Ein Hündchen läuft über die Straße.",
    "Two young men are playing football in the park.",
    "Zwei junge Männer spielen im Park Fußball.",
    "一只狗在草地上跑。",
    "你好，世界！你好！",
    "The dog, the men and the park: 1234 dogs.",
] * 5


@cache
def _learn(kind: str, **changes: object) -> Tokenizer:
    settings = TokenizerSettings(**{"kind": kind, "vocabulary": 450} | changes)  # type: ignore[arg-type]
    return Tokenizer.learn(LINES, settings, seed=1)


@pytest.fixture
def lines() -> list[str]:
    return LINES


@pytest.fixture
def learn() -> Callable[..., Tokenizer]:
    """learn(kind, **changed settings), each learned only once."""
    return _learn


@pytest.fixture(params=["bpe", "unigram", "char"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return _learn(request.param)
