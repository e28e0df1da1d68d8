"""The task of facets: a colour from here and a form from there, through one vector."""

import numpy as np
from torch import Tensor, nn

from saccade.nn.capture import capture
from saccade.nn.mode import evaluating
from saccade.tasks.facets import facets
from saccade.tasks.facets.facets import Facets
from saccade.tasks.facets.model import MultiDimensional
from saccade.tasks.facets.model_settings import MultiDimensionalSettings
from saccade.tasks.facets.settings import FacetsSettings
from saccade.tasks.generated import TEST, GeneratedTask, held_out, need_no_text
from saccade.trace.trace import AttentionTrace, Layer, Tokens


class FacetsTask(GeneratedTask[FacetsSettings, MultiDimensionalSettings, Facets]):
    """Sequences that are drawn at random."""

    measure = "accuracy"

    def build(self) -> MultiDimensional:
        """A new model."""
        return MultiDimensional(self.model, facets.num_tokens(self.task), self.task.num_values)

    def draw(self, random: np.random.Generator, count: int) -> Facets:
        """`count` sequences."""
        return facets.draw(self.task, random, count)

    def loss(self, model: nn.Module, batch: Facets) -> Tensor:
        """The cross-entropy of both answers."""
        return nn.functional.cross_entropy(model(batch).flatten(0, 1), batch.label.flatten(), reduction="sum")

    def quality(self, model: nn.Module, batch: Facets) -> float:
        """The share of sequences whose colour and form are both right."""
        return float((model(batch).argmax(dim=-1) == batch.label).all(dim=1).double().mean())

    def sample(self, model: nn.Module, batch: Facets) -> tuple[str, str]:
        """The sequence, and what was named."""
        colour, form = model(batch)[0].argmax(dim=-1).tolist()
        return " ".join(self._words(batch)), f"c{colour} f{form}"

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """What the pooling looks at; where features have weights of their own, they are shown as heads."""
        need_no_text(text, self.task.kind)
        batch = self.draw(held_out(TEST), 1)
        with evaluating(model), capture(model) as captured:
            colour, form = model(batch)[0].argmax(dim=-1).tolist()
        words = self._words(batch)
        name = "pool" if self.model.pooling == "features" else "pool.attention"
        weights = captured.weights[name][0][0, ..., : len(words)].numpy()
        target = Tokens((f"c{colour} f{form}",))
        return [AttentionTrace(source=Tokens(tuple(words)), target=target, layers=(Layer("pool", "cross", weights),))]

    def _words(self, batch: Facets) -> list[str]:
        """The first sequence of a batch."""
        return [facets.spelled(self.task, word) for word in batch.words[0][batch.mask[0]].tolist()]


open_task = FacetsTask.of
