"""The lesson of facets: a colour from here and a form from there, through one vector."""

import numpy as np
from torch import Tensor, nn

from saccade.data.tasks import facets
from saccade.data.tasks.facets import Facets
from saccade.data.tasks.facets_settings import FacetsSettings
from saccade.lessons.generated import TEST, Generated, evaluating
from saccade.models.multidimensional import MultiDimensional
from saccade.models.multidimensional_settings import MultiDimensionalSettings
from saccade.nn.capture import capture
from saccade.trace.trace import AttentionTrace, Layer, Tokens


class BothFacets(nn.Module):
    """The model with its loss."""

    baseline: float | None = None

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Facets) -> tuple[Tensor, Tensor]:
        logits = self.model(batch).flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, batch.label.flatten(), reduction="sum")
        return loss, loss.detach()


class FacetsLesson(Generated[FacetsSettings, MultiDimensionalSettings, Facets]):
    """Sequences that are drawn by chance."""

    measure = "accuracy"

    def build(self) -> MultiDimensional:
        """A new model."""
        return MultiDimensional(self.model, facets.num_tokens(self.task), self.task.num_values)

    def draw(self, random: np.random.Generator, count: int) -> Facets:
        """So many sequences."""
        return facets.draw(self.task, random, count)

    def learner(self, model: nn.Module) -> BothFacets:
        """The model with its loss."""
        return BothFacets(model)

    def quality(self, model: nn.Module, batch: Facets) -> float:
        """The share of sequences whose colour and form are both right."""
        return float((model(batch).argmax(dim=-1) == batch.label).all(dim=1).double().mean())

    def sample(self, model: nn.Module, batch: Facets) -> tuple[str, str]:
        """The sequence, and what was named."""
        colour, form = model(batch)[0].argmax(dim=-1).tolist()
        return " ".join(self._words(batch)), f"c{colour} f{form}"

    def show(self, model: nn.Module, text: str | None) -> list[AttentionTrace]:
        """What the pooling looks at; where features have weights of their own, they are shown as heads."""
        batch = self.draw(np.random.default_rng((self.seed, TEST)), 1)
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
