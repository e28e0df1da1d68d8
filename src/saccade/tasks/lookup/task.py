"""Looking up: pairs of a key and a value, and a key whose value is wanted; a dictionary that is new in each example."""

import re
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from saccade.errors import DataError, ModelError
from saccade.nn.capture import capture
from saccade.nn.mode import evaluating
from saccade.nn.multihead import MultiHeadAttention
from saccade.tasks.generated import ClassificationTask, Labelled
from saccade.tasks.lookup.settings import LookupSettings, RetrieverSettings
from saccade.trace.trace import AttentionTrace, Layer, Tokens

_TEXT = re.compile(r"(k\d+=v\d+\s+)+k\d+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Lookups(Labelled):
    """Examples side by side."""

    keys: Int[Tensor, "batch key"]
    values: Int[Tensor, "batch key"]
    mask: Bool[Tensor, "batch key"]
    """True where there is a pair."""
    query: Int[Tensor, " batch"]
    """A key of the example."""
    label: Int[Tensor, " batch"]
    """Its value."""


class Retriever(nn.Module):
    """A dictionary in one layer: multi-head attention asks all pairs for a key, and reads the value beside it.

    A pair is the sum of its two embeddings; only the weights of attention tell which pair is meant.
    """

    def __init__(self, settings: RetrieverSettings, num_keys: int, num_values: int) -> None:
        super().__init__()
        self.settings = settings
        self.keys = nn.Embedding(num_keys, settings.d_model)
        self.values = nn.Embedding(num_values, settings.d_model)
        self.attention = MultiHeadAttention(settings.d_model, settings.num_heads, kind="cross")
        self.output = nn.Linear(settings.d_model, num_values)

    def forward(self, batch: Lookups) -> Float[Tensor, "batch classes"]:
        memory = self.attention.memory(self.keys(batch.keys) + self.values(batch.values), batch.mask)
        queries = self.attention.queries(self.keys(batch.query)[:, None])
        if self.settings.reads == "mean":
            queries = torch.zeros_like(queries)  # all scores are 0, all weights alike
        logits: Tensor = self.output(self.attention(queries, memory)[:, 0])
        return logits


class LookupTask(ClassificationTask[LookupSettings, RetrieverSettings, Lookups]):
    """Which value stands beside the key that is asked for."""

    def build(self) -> Retriever:
        return Retriever(self.model, self.task.num_keys, self.task.num_values)

    def draw(self, random: np.random.Generator, count: int) -> Lookups:
        """`count` examples. Keys and values are paired at random, so that neither tells anything of the other."""
        task, rows = self.task, np.arange(count)
        lengths = random.integers(task.min_pairs, task.max_pairs + 1, count)
        keys = random.permuted(np.tile(np.arange(task.num_keys), (count, 1)), axis=1)[:, : task.max_pairs]
        values = random.integers(0, task.num_values, keys.shape)
        asked = random.integers(0, lengths)
        mask = np.arange(task.max_pairs) < lengths[:, None]
        return Lookups(*map(torch.from_numpy, (keys, values, mask, keys[rows, asked], values[rows, asked])))

    def sample(self, model: nn.Module, batch: Lookups) -> tuple[str, str]:
        """The first example, and what was answered."""
        return " ".join([*_pairs(batch), f"k{int(batch.query[0])}"]), f"v{int(model(batch)[0].argmax())}"

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """How much every head looks at each pair, for the key that is asked for."""
        if self.model.reads == "mean":
            raise ModelError(
                'Weights were asked for, but a model with reads = "mean" has none: all pairs count alike. '
                'Train one with reads = "attention".'
            )
        batch = self.example() if text is None else self._read(text)
        with evaluating(model), capture(model) as captured:
            answer = f"v{int(model(batch)[0].argmax())}"
        pairs = _pairs(batch)
        weights = captured.weights["attention"][0][0, ..., : len(pairs)].numpy()
        target = Tokens((answer,), answer, ((0, len(answer)),))
        layer = Layer("attention", "cross", weights)
        return [AttentionTrace(source=Tokens(tuple(pairs)), target=target, layers=(layer,))]

    def _read(self, text: str) -> Lookups:
        """An example as people write it: k3=v1 k7=v4 k3."""
        numbers = [int(number) for number in re.findall(r"\d+", text)] if _TEXT.fullmatch(text.strip()) else []
        keys, values = numbers[::2], numbers[1::2]
        known = all(key < self.task.num_keys for key in keys) and all(value < self.task.num_values for value in values)
        if not numbers or not known or keys[-1] not in keys[:-1]:
            raise DataError(
                "A lookup must be pairs and then one of their keys, such as k3=v1 k7=v4 k3, with keys below "
                f"k{self.task.num_keys} and values below v{self.task.num_values}, but came as {text!r}."
            )
        *paired, query = keys
        ids = [paired], [values], [[True] * len(values)], [query], [values[paired.index(query)]]
        return Lookups(*map(torch.tensor, ids))


def _pairs(batch: Lookups) -> list[str]:
    """The pairs of the first example."""
    rows = (side[0][batch.mask[0]].tolist() for side in (batch.keys, batch.values))
    return [f"k{key}=v{value}" for key, value in zip(*rows, strict=True)]


open_task = LookupTask.of
