"""Answers questions about scenes, by co-attention (Lu et al. 2016) or, for comparison, by less."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.nn.coattention import AlternatingCoAttention, CoAttended, ParallelCoAttention
from saccade.nn.hierarchical import LearnedQuery
from saccade.tasks.scenes.model_settings import CoAttentionSettings
from saccade.tasks.scenes.scenes import Scenes


class CoAttentionModel(nn.Module):
    """Cells that know their neighbours, words that know each other, what is read of both, and the scores of colours."""

    def __init__(self, settings: CoAttentionSettings, side: int, num_colours: int, num_words: int) -> None:
        super().__init__()
        d_model = settings.d_model
        self.settings = settings
        if settings.reads != "question":
            self.colours, self.shapes = nn.Embedding(num_colours, d_model), nn.Embedding(side**2, d_model)
            self.neighbours = nn.Conv2d(d_model, d_model, 3, padding=1)
        if settings.reads != "image":
            self.words = nn.Embedding(num_words, d_model)
            self.word_context = nn.Conv1d(d_model, d_model, 3, padding=1)  # the paper's phrase level, with one width
        self.attention = _reader(settings.reads, d_model)
        self.hidden, self.output = nn.Linear(2 * d_model, d_model), nn.Linear(d_model, num_colours)
        for embedding in self.children():
            if isinstance(embedding, nn.Embedding):  # else the affinity, a tanh, begins saturated
                nn.init.normal_(embedding.weight, std=d_model**-0.5)

    def forward(self, batch: Scenes) -> Float[Tensor, "batch classes"]:
        """The logit of every colour."""
        image = None if self.settings.reads == "question" else self._cells(batch)
        question = None if self.settings.reads == "image" else self._words(batch)
        seen = self.attention(image, question, None, batch.question_mask)
        logits: Tensor = self.output(self.hidden(torch.cat(seen, dim=-1)).relu())
        return logits

    def _cells(self, batch: Scenes) -> Float[Tensor, "batch regions d_model"]:
        cells = (self.colours(batch.colours) + self.shapes(batch.shapes)).permute(0, 3, 1, 2)
        known: Tensor = cells + self.neighbours(cells).relu()
        return known.flatten(2).mT

    def _words(self, batch: Scenes) -> Float[Tensor, "batch words d_model"]:
        words = (self.words(batch.question) * batch.question_mask[..., None]).mT
        known: Tensor = words + self.word_context(words).relu()
        return known.mT


class Mean(nn.Module):
    """Both sides by their mean."""

    def forward(self, image: Tensor, question: Tensor, image_mask: None, question_mask: Tensor) -> CoAttended:
        total = (question * question_mask[..., None]).sum(dim=1)
        return CoAttended(image.mean(dim=1), total / question_mask.sum(dim=1, keepdim=True))


class OneSide(nn.Module):
    """One side by attention that always asks the same; the other is not there."""

    def __init__(self, d_model: int, *, looks_at_image: bool) -> None:
        super().__init__()
        self.pool = LearnedQuery(d_model, d_model, kind="image" if looks_at_image else "cross")

    def forward(
        self, image: Tensor | None, question: Tensor | None, image_mask: None, question_mask: Tensor
    ) -> CoAttended:
        if image is not None:
            seen = self.pool(image)
            return CoAttended(seen, torch.zeros_like(seen))
        read = self.pool(question, question_mask)
        return CoAttended(torch.zeros_like(read), read)


def _reader(reads: str, d_model: int) -> nn.Module:
    match reads:
        case "parallel":
            return ParallelCoAttention(d_model, d_model, d_model)
        case "alternating":
            return AlternatingCoAttention(d_model, d_model, d_model)
        case "mean":
            return Mean()
        case _:
            return OneSide(d_model, looks_at_image=reads == "image")
