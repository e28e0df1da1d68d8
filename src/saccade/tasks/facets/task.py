"""Facets: sequences of things that have a colour and a form. Wanted are the colour of the thing behind one marker, and
the form of the thing behind another: one vector is to carry both, each from another place.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import elu

from saccade.nn.capture import capture
from saccade.nn.hierarchical import LearnedQuery
from saccade.nn.mode import evaluating
from saccade.nn.multidimensional import FusionGate, SourceToToken, TokenToToken
from saccade.tasks.facets.settings import FacetsSettings, MultiDimensionalSettings
from saccade.tasks.generated import ClassificationTask, Labelled, need_no_text
from saccade.trace.trace import AttentionTrace, Layer, Tokens

PAD, COLOUR_MARKER, FORM_MARKER = 0, 1, 2
FIRST_THING = 3
"""Thing n has colour n // num_values and form n % num_values."""


@dataclass(frozen=True, slots=True)
class Facets(Labelled):
    """Sequences with the two answers."""

    words: Int[Tensor, "batch words"]
    mask: Bool[Tensor, "batch words"]
    label: Int[Tensor, "batch 2"]
    """A colour, and a form."""


class MultiDimensional(nn.Module):
    """DiSAN (Shen et al. 2018): self-attention in both directions, then a pooling; every feature has its own weights.

    It names two things about a sequence, out of one vector.
    """

    def __init__(self, settings: MultiDimensionalSettings, num_tokens: int, num_values: int) -> None:
        super().__init__()
        d_model = settings.d_model
        self.embedding = nn.Embedding(num_tokens, d_model)
        self.hidden = nn.Linear(d_model, d_model)
        self.forwards, self.backwards = TokenToToken(d_model), TokenToToken(d_model, looks_ahead=True)
        self.forwards_gate, self.backwards_gate = FusionGate(d_model), FusionGate(d_model)
        by_feature = settings.pooling == "features"
        self.pool = SourceToToken(2 * d_model) if by_feature else LearnedQuery(2 * d_model, 2 * d_model, kind="cross")
        self.output = nn.Linear(2 * d_model, 2 * num_values)

    def forward(self, batch: Facets) -> Float[Tensor, "batch 2 classes"]:
        states = elu(self.hidden(self.embedding(batch.words)))
        both = [
            self.forwards_gate(states, self.forwards(states, batch.mask)),
            self.backwards_gate(states, self.backwards(states, batch.mask)),
        ]
        logits: Tensor = self.output(self.pool(torch.cat(both, dim=-1), batch.mask))
        return logits.view(len(logits), 2, -1)


class FacetsTask(ClassificationTask[FacetsSettings, MultiDimensionalSettings, Facets]):
    """A colour from here and a form from there, through one vector."""

    def build(self) -> MultiDimensional:
        num_values = self.task.num_values
        return MultiDimensional(self.model, FIRST_THING + num_values**2, num_values)

    def draw(self, random: np.random.Generator, count: int) -> Facets:
        """`count` sequences; the two things that are asked about are never the same one."""
        task = self.task
        lengths = random.integers(task.min_length, task.max_length + 1, count)
        words = np.full((count, task.max_length + 2), PAD)
        label = np.empty((count, 2), dtype=np.int64)
        for row, length in enumerate(lengths):
            things = random.integers(0, task.num_values**2, length)
            colour, form = random.choice(length, 2, replace=False)
            label[row] = things[colour] // task.num_values, things[form] % task.num_values
            sequence: list[int] = []
            for place, thing in enumerate(things):
                sequence += [marker for marker, at in ((COLOUR_MARKER, colour), (FORM_MARKER, form)) if at == place]
                sequence.append(FIRST_THING + int(thing))
            words[row, : len(sequence)] = sequence
        return Facets(*map(torch.from_numpy, (words, words != PAD, label)))

    def quality(self, model: nn.Module, batch: Facets) -> float:
        """The share of sequences whose colour and form are both right."""
        return float((model(batch).argmax(dim=-1) == batch.label).all(dim=1).double().mean())

    def sample(self, model: nn.Module, batch: Facets) -> tuple[str, str]:
        """The sequence, and what was named."""
        colour, form = model(batch)[0].argmax(dim=-1).tolist()
        return " ".join(self.spell(batch)), f"c{colour} f{form}"

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """What the pooling looks at; where features have weights of their own, they are shown as heads."""
        need_no_text(text, self.task.kind)
        batch = self.example()
        with evaluating(model), capture(model) as captured:
            colour, form = model(batch)[0].argmax(dim=-1).tolist()
        words = self.spell(batch)
        name = "pool" if self.model.pooling == "features" else "pool.attention"
        weights = captured.weights[name][0][0, ..., : len(words)].numpy()
        target = Tokens((f"c{colour} f{form}",))
        return [AttentionTrace(source=Tokens(tuple(words)), target=target, layers=(Layer("pool", "cross", weights),))]

    def spell(self, batch: Facets, row: int = 0) -> list[str]:
        """A sequence of a batch as people read it."""
        return [self._word(word) for word in batch.words[row][batch.mask[row]].tolist()]

    def _word(self, word: int) -> str:
        if word < FIRST_THING:
            return "colour:" if word == COLOUR_MARKER else "form:"
        colour, form = divmod(word - FIRST_THING, self.task.num_values)
        return f"c{colour}f{form}"


open_task = FacetsTask.of
