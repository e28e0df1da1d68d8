"""A training update of saccade beside the plain loop that a competent user would write with torch.nn, in one run.

Same batches, same sizes (the preset "tiny"), both with two threads. nn.Transformer also drops attention weights, which
the paper does not and our default does not. Windows alternate, and the median of their ratios counts, as other work on
the machine disturbs both alike.

    python benchmarks/training.py [WINDOWS]
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear

from saccade.data.batch import Batch, collate
from saccade.models.build import Model, build
from saccade.models.settings import TransformerSettings
from saccade.nn import dropout
from saccade.nn.positions import sinusoids
from saccade.text.tokenizer import PAD
from saccade.training import machine
from saccade.training.loss import smoothed_loss_chunked

VOCABULARY, BATCH_TOKENS, UPDATES = 8000, 2048, 6
TINY = TransformerSettings(**TransformerSettings.PRESETS["tiny"])


class Plain(nn.Module):
    """nn.Transformer with shared embeddings, as in torch's own tutorial."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, settings.d_model)
        nn.init.normal_(self.embedding.weight, std=settings.d_model**-0.5)
        self.register_buffer("positions", sinusoids(512, settings.d_model))
        self.dropout = nn.Dropout(settings.dropout)
        self.transformer = nn.Transformer(
            settings.d_model,
            settings.num_heads,
            settings.layers,
            settings.layers,
            settings.d_feedforward,
            settings.dropout,
            batch_first=True,
        )

    def embed(self, ids: Tensor) -> Tensor:
        scaled = self.embedding(ids) * self.embedding.embedding_dim**0.5
        return self.dropout(scaled + self.positions[: ids.shape[1]])

    def forward(self, batch: Batch) -> Tensor:
        hidden = self.transformer(
            self.embed(batch.source),
            self.embed(batch.prefix),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(batch.prefix.shape[1], dtype=torch.bool),
            src_key_padding_mask=~batch.source_mask,
            memory_key_padding_mask=~batch.source_mask,
            tgt_is_causal=True,
        )
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
        loss_of(batch).backward()
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
    ratios = [a / b for a, b in zip(*rates.values(), strict=True)]
    print(f"ratio             {statistics.median(ratios):8.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")


def prepare_machine() -> None:
    """Before any model is built: threads, memory and seed."""
    machine.use("cpu", threads=2)
    dropout.seed(1)


def main(windows: int) -> None:
    prepare_machine()
    ours, plain = build(TINY, VOCABULARY, VOCABULARY), Plain(TINY)

    def plain_loss(batch: Batch) -> Tensor:
        scores = plain(batch).transpose(1, 2)
        return cross_entropy(scores, batch.target, ignore_index=PAD, label_smoothing=0.1)

    compare({"saccade": (ours, our_loss(ours)), "plain torch loop": (plain, plain_loss)}, batches(UPDATES), windows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
