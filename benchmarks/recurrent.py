"""A training update of our Bahdanau model beside the plain loop that a competent user would write, in one run.

The plain one has nn.GRU as encoder, nn.GRUCell and additive attention over all source positions at once in a loop over
target steps, and cross_entropy: same sizes, same batches, same dropout rates. Windows alternate, and the median of
their ratios counts, as other work on the machine disturbs both equally.

    python -m benchmarks.recurrent [WINDOWS]
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is loaded

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.report import format_spread
from saccade.data.batch import Batch, collate
from saccade.models.build import Model, build
from saccade.models.settings import RecurrentSettings
from saccade.nn import dropout
from saccade.text.tokenizer import PAD
from saccade.training import machine
from saccade.training.loss import smoothed_loss_chunked

VOCABULARY, BATCH_TOKENS = 8000, 2048
SMALL = RecurrentSettings(**RecurrentSettings.PRESETS["small"])


class PlainRecurrent(nn.Module):
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
        embedded: Tensor = self.dropout(self.embedding(ids) * self.embedding.embedding_dim**0.5)
        return embedded

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


def batches(count: int) -> list[Batch]:
    """Random tokens with lengths like those of captions."""
    rng = np.random.default_rng(0)
    made = []
    for _ in range(count):
        length = int(rng.integers(8, 28))
        lengths = rng.integers(max(2, length - 3), length, size=BATCH_TOKENS // length)
        sources, targets = ([rng.integers(4, VOCABULARY, n) for n in lengths] for _ in range(2))
        made.append(collate(sources, targets))
    return made


def updater(model: nn.Module, loss_of: Callable[[Batch], Tensor]) -> Callable[[Batch], None]:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), fused=True)

    def update(batch: Batch) -> None:
        optimizer.zero_grad()
        loss_of(batch).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return update


def our_loss(model: Model) -> Callable[[Batch], Tensor]:
    """As the training loop has it."""

    def loss(batch: Batch) -> Tensor:
        mask = batch.target_mask
        return smoothed_loss_chunked(model(batch)[mask], model.output_weight, batch.target[mask], 0.1) / int(mask.sum())

    return loss


def compare(
    contestants: Mapping[str, tuple[nn.Module, Callable[[Batch], Tensor]]], made: Sequence[Batch], windows: int
) -> None:
    """Let both update in turns, and print the speed of each and the ratio of the first to the second."""
    updates = {name: updater(*contestant) for name, contestant in contestants.items()}
    tokens = sum(int(batch.target_mask.sum()) for batch in made)
    rates: dict[str, list[float]] = {name: [] for name in updates}
    for window in range(windows + 1):  # the first one warms up
        for name, update in updates.items():
            began = time.perf_counter()
            for batch in made:
                update(batch)
            if window:
                rates[name].append(tokens / (time.perf_counter() - began))
    for name, measured in rates.items():
        print(f"{name:<17} {statistics.median(measured):8,.0f} target tokens/s, median of {windows} windows")
    print(f"ratio             {format_spread([a / b for a, b in zip(*rates.values(), strict=True)])}")


def prepare_machine() -> None:
    """Before any model is built: threads, memory and seed."""
    machine.use("cpu", threads=2)
    dropout.seed(1)


def main(windows: int) -> None:
    prepare_machine()
    ours, plain = build(SMALL, VOCABULARY, VOCABULARY), PlainRecurrent(SMALL)

    def plain_loss(batch: Batch) -> Tensor:
        return cross_entropy(plain(batch).transpose(1, 2), batch.target, ignore_index=PAD, label_smoothing=0.1)

    compare({"saccade": (ours, our_loss(ours)), "plain torch loop": (plain, plain_loss)}, batches(6), windows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
