"""The task of episodes: shown something, a machine with a memory is to answer later."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from saccade.errors import DataError, ModelError
from saccade.nn.capture import capture
from saccade.nn.mode import evaluating
from saccade.tasks.generated import TEST, GeneratedTask
from saccade.tasks.memory import episodes
from saccade.tasks.memory.episodes import Episode, Episodes
from saccade.tasks.memory.loss import answer_loss, exact, figures
from saccade.tasks.memory.model import Lstm, Turing
from saccade.tasks.memory.settings import (
    CopySettings,
    EpisodesSettings,
    LstmSettings,
    TuringSettings,
    twice_as_large,
)
from saccade.trace.trace import AttentionTrace, Layer, Tokens

LARGER, NUM_LARGER = 3, 200
"""The stream of random numbers for episodes of twice the size, and how many of them."""


class MemoryTask(GeneratedTask[EpisodesSettings, TuringSettings | LstmSettings, Episodes]):
    """Copies, recalls and the like, in bits."""

    measure = "exact match"
    num_valid = 8
    num_test = 32

    def build(self) -> Turing | Lstm:
        sizes = self.task.num_inputs, self.task.num_outputs
        return Turing(self.model, *sizes) if isinstance(self.model, TuringSettings) else Lstm(self.model, *sizes)

    def draw(self, random: np.random.Generator, count: int) -> Episodes:
        return episodes.draw(random, self.task, count)

    @property
    def d_model(self) -> int:
        return self.model.d_controller if isinstance(self.model, TuringSettings) else self.model.d_model

    def loss(self, model: nn.Module, batch: Episodes) -> Tensor:
        return answer_loss(model, batch)

    def quality(self, model: nn.Module, batch: Episodes) -> float:
        """The share of episodes in which every bit is right."""
        return float(exact(model(batch), batch).mean())

    def sample(self, model: nn.Module, batch: Episodes) -> tuple[str, str]:
        """What was wanted in the first episode, and what was said."""
        said = (model(batch) > 0).to(batch.targets.dtype)
        wanted = batch.target_mask[0]
        return _vectors(batch.targets[0][wanted]), _vectors(said[0][wanted])

    def evaluate(self, model: nn.Module) -> Mapping[str, float]:
        """Loss, bits and exact match; the last two also at twice the largest size, if the memory has room for it."""
        results = dict(super().evaluate(model))
        with evaluating(model):
            bits = [figures(model, batch)["bits per sequence"] for batch in self.fixed(TEST, self.num_test)]
            results["bits per sequence"] = float(np.mean(bits))
            larger = twice_as_large(self.task)
            if isinstance(self.model, LstmSettings) or larger.num_remembered <= self.model.rows:
                batch = episodes.draw(self.random(LARGER), larger, NUM_LARGER)
                results |= {f"{name}, twice the size": value for name, value in figures(model, batch).items()}
        return results

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """Where every head was at each step: the steps of an episode down, the rows of the memory across."""
        if isinstance(self.model, LstmSettings):
            raise ModelError(
                "Weights were asked for, but an LSTM has none: it keeps what it saw in its state. "
                'Train a model of kind "turing".'
            )
        random = self.random(TEST)
        shown = episodes.episode(random, self.task) if text is None else self._read(text)
        remembered = self.task.num_remembered if text is None else len(text.split())
        batch = replace(episodes.collate([shown]), num_remembered=remembered)
        with evaluating(model), capture(model) as captured:
            said = _vectors((model(batch)[0] > 0).to(torch.float32)).split()
        layers = [Layer(layer.name, layer.kind, layer.weights[0].numpy()) for layer in captured.layers]
        steps = tuple(self._step(shown, at, said[at]) for at in range(len(shown.inputs)))
        return [AttentionTrace(source=Tokens(()), target=Tokens(steps), layers=tuple(layers))]

    def _step(self, shown: Episode, at: int, said: str) -> str:
        """What a step is called: the vector that was shown, or that was said; marks in brackets."""
        inputs = shown.inputs[at]
        if not inputs.any() and shown.wanted[at]:
            return f"→{said}"
        bits = self.task.num_outputs if isinstance(self.task, CopySettings) else len(inputs) - 2
        vector = "".join(str(int(bit > 0)) for bit in inputs[: max(bits, 1)])
        marks = inputs[max(bits, 1) :]
        return vector if not marks.any() else "[" + " ".join(f"{mark:g}" for mark in marks.round(2)) + "]"

    def _read(self, text: str) -> Episode:
        """An episode of copying as people write it: the vectors, each as its bits."""
        if not isinstance(self.task, CopySettings):
            raise DataError(
                f"Only an episode of copying can be given as text, but this model has learned {self.task.kind}. "
                "Leave the text out to see an example."
            )
        vectors = text.split()
        wrong = [each for each in vectors if len(each) != self.task.bits or set(each) - set("01")]
        if wrong or not vectors:
            raise DataError(
                f"An episode must be vectors of {self.task.bits} zeros and ones with blanks between them, but "
                f"{f'{wrong[0]} is none' if wrong else 'the text is empty'}."
            )
        return episodes.copy_of(np.array([[int(bit) for bit in each] for each in vectors], np.float32))


def _vectors(bits: torch.Tensor) -> str:
    return " ".join("".join(str(int(bit)) for bit in vector) for vector in bits)


open_task = MemoryTask.of
