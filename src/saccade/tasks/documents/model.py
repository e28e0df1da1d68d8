"""A document classifier that reads words, then sentences (Yang et al. 2016), and its two baselines."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from saccade.nn.dropout import Dropout
from saccade.nn.hierarchical import LearnedQuery
from saccade.tasks.documents.documents import Documents
from saccade.tasks.documents.settings import HierarchicalSettings


class Hierarchical(nn.Module):
    """Bidirectional GRUs over words and over sentences, each pooled to one vector; then the scores of the classes."""

    def __init__(self, settings: HierarchicalSettings, num_tokens: int, num_classes: int) -> None:
        super().__init__()
        d_model = settings.d_model
        self.settings = settings
        self.embedding = nn.Embedding(num_tokens, d_model)
        self.dropout = Dropout(settings.dropout)
        self.words, self.word_pool = _Reader(d_model), _pool(settings, d_model)
        if settings.pooling != "flat":
            self.sentences, self.sentence_pool = _Reader(d_model), _pool(settings, d_model)
        self.output = nn.Linear(d_model, num_classes)

    def forward(self, batch: Documents) -> Float[Tensor, "batch classes"]:
        """The logit of every class."""
        batch_size, num_sentences, _ = batch.words.shape
        read = self.words(self.dropout(self.embedding(batch.words)).flatten(0, 1), batch.mask.flatten(0, 1))
        if self.settings.pooling == "flat":
            document = self.word_pool(read.view(batch_size, -1, read.shape[-1]), batch.mask.flatten(1))
        else:
            pooled = self.word_pool(read, batch.mask.flatten(0, 1)).view(batch_size, num_sentences, -1)
            exists = batch.mask.any(dim=-1)
            document = self.sentence_pool(self.sentences(pooled, exists), exists)
        logits: Tensor = self.output(self.dropout(document))
        return logits


class _Reader(nn.Module):
    """A GRU in both directions; states of what is masked are zero."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.cell = nn.GRU(d_model, d_model // 2, bidirectional=True, batch_first=True)

    def forward(
        self, states: Float[Tensor, "rows positions d_model"], mask: Bool[Tensor, "rows positions"]
    ) -> Float[Tensor, "rows positions d_model"]:
        lengths = mask.sum(dim=1)
        real = lengths > 0  # a sentence of padding has nothing to be read
        packed = pack_padded_sequence(states[real], lengths[real].cpu(), batch_first=True, enforce_sorted=False)
        read, _ = pad_packed_sequence(self.cell(packed)[0], batch_first=True, total_length=states.shape[1])
        return torch.zeros_like(states).masked_scatter(real[:, None, None], read)


class Mean(nn.Module):
    """The mean of what is not masked."""

    def forward(
        self, states: Float[Tensor, "rows positions d_model"], mask: Bool[Tensor, "rows positions"]
    ) -> Float[Tensor, "rows d_model"]:
        total = (states * mask[..., None]).sum(dim=1)
        return total / mask.sum(dim=1, keepdim=True).clamp(min=1)


def _pool(settings: HierarchicalSettings, d_model: int) -> nn.Module:
    return Mean() if settings.pooling == "average" else LearnedQuery(d_model, d_model, kind="cross")
