"""The task of looking up: which value stands beside the key that is asked for."""

import re

import numpy as np
import torch
from torch import nn

from saccade.errors import DataError, ModelError
from saccade.nn.capture import capture
from saccade.nn.mode import evaluating
from saccade.tasks.generated import TEST, ClassificationTask
from saccade.tasks.lookup import lookups
from saccade.tasks.lookup.lookups import Lookups
from saccade.tasks.lookup.model import Retriever
from saccade.tasks.lookup.settings import LookupSettings, RetrieverSettings
from saccade.trace.trace import AttentionTrace, Layer, Tokens

_TEXT = re.compile(r"(k\d+=v\d+\s+)+k\d+", re.ASCII)


class LookupTask(ClassificationTask[LookupSettings, RetrieverSettings, Lookups]):
    """Pairs that are drawn at random."""

    def build(self) -> Retriever:
        """A new model."""
        return Retriever(self.model, self.task.num_keys, self.task.num_values)

    def draw(self, random: np.random.Generator, count: int) -> Lookups:
        """`count` examples."""
        return lookups.draw(self.task, random, count)

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
        batch = self.draw(self.random(TEST), 1) if text is None else self._read(text)
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
