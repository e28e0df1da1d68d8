"""A training update of our Bahdanau model beside the plain loop that a competent user would write, in one run.

The plain one has nn.GRU as encoder, nn.GRUCell and additive attention over all source positions at once in a loop over
target steps, and cross_entropy: same sizes, same batches, same dropout rates. Windows alternate, and the median of
their ratios counts, as other work on the machine disturbs both alike.

    python benchmarks/recurrent.py [WINDOWS]
"""

import os
import sys

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is loaded

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from saccade.data.batch import Batch
from saccade.models.build import build
from saccade.models.settings import RecurrentSettings
from saccade.text.tokenizer import PAD
from training import VOCABULARY, batches, compare, our_loss, prepare_machine

SMALL = RecurrentSettings(**RecurrentSettings.PRESETS["small"])


class Plain(nn.Module):
    """RNNsearch as tutorials have it, with everything vectorised that can be."""

    def __init__(self, settings: RecurrentSettings) -> None:
        super().__init__()
        d = settings.d_model
        self.embedding = nn.Embedding(VOCABULARY, d)
        nn.init.normal_(self.embedding.weight, std=d**-0.5)
        self.dropout = nn.Dropout(settings.dropout)
        self.encoder = nn.GRU(d, d // 2, batch_first=True, bidirectional=True)
        self.first = nn.Linear(d // 2, d)
        self.of_query, self.of_key = nn.Linear(d, d), nn.Linear(d, d, bias=False)
        self.v = nn.Linear(d, 1, bias=False)
        self.cell = nn.GRUCell(2 * d, d)
        self.readout = nn.Linear(3 * d, d)

    def embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids) * self.embedding.embedding_dim**0.5)

    def forward(self, batch: Batch) -> Tensor:
        lengths = batch.source_mask.sum(dim=1)
        packed = pack_padded_sequence(self.embed(batch.source), lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, last = self.encoder(packed)
        states, _ = pad_packed_sequence(outputs, batch_first=True)
        state, keys = self.first(last[1]).tanh(), self.of_key(states)
        embedded, spoken = self.embed(batch.prefix), []
        for position in range(batch.prefix.shape[1]):
            scores = self.v((self.of_query(state)[:, None] + keys).tanh())[..., 0]
            weights = scores.masked_fill(~batch.source_mask, -torch.inf).softmax(dim=-1)
            context = (weights[:, None] @ states)[:, 0]
            word = embedded[:, position]
            state = self.cell(torch.cat([word, context], dim=-1), state)
            spoken.append(torch.cat([state, word, context], dim=-1))
        hidden = self.dropout(self.readout(torch.stack(spoken, dim=1)).tanh())
        return linear(hidden, self.embedding.weight)


def main(windows: int) -> None:
    prepare_machine()
    ours, plain = build(SMALL, VOCABULARY, VOCABULARY), Plain(SMALL)

    def plain_loss(batch: Batch) -> Tensor:
        return cross_entropy(plain(batch).transpose(1, 2), batch.target, ignore_index=PAD, label_smoothing=0.1)

    compare({"saccade": (ours, our_loss(ours)), "plain torch loop": (plain, plain_loss)}, batches(6), windows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
