"""The loop that a competent user writes with torch.nn: the baseline of all contestants. Needs torch only.

Post-norm as in the paper, one table for all embeddings, batches of similar lengths (`cut_batches`), no loss on
padding, fused Adam.
"""

import math
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear
from torch.nn.utils.rnn import pad_sequence

from benchmarks.training.work import BOS, DROPOUT_PLACES, EOS, PAD, DropoutPlaces, TrainingWork, cut_batches
from benchmarks.turns import Turns

Forward = Callable[[Tensor, Tensor], Tensor]
"""From source and prefix to logits."""
LEARNING_RATE, WARMUP = 5e-4, 4000


class PlainTransformer(nn.Module):
    """torch.nn's encoder and decoder, with scaled embeddings and sinusoids as in torch's own tutorial."""

    positions: Tensor

    def __init__(self, work: TrainingWork, places: DropoutPlaces) -> None:
        super().__init__()
        model = work.model
        self.embedding = nn.Embedding(work.vocabulary, model.d_model, padding_idx=PAD)
        self.register_buffer("positions", sinusoids(512, model.d_model))
        self.dropout = nn.Dropout(model.dropout)
        shape = (model.d_model, model.num_heads, model.d_feedforward, model.dropout)
        encoder_layer = nn.TransformerEncoderLayer(*shape, batch_first=True)
        decoder_layer = nn.TransformerDecoderLayer(*shape, batch_first=True)
        self.encoder = nn.TransformerEncoder(encoder_layer, model.layers, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(decoder_layer, model.layers)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        nn.init.normal_(self.embedding.weight, std=model.d_model**-0.5)
        rates = work.dropout_rates(places)
        for module in self.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = rates["attention_dropout"]
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = rates["activation_dropout"]

    def embed(self, ids: Tensor) -> Tensor:
        scaled = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        dropped: Tensor = self.dropout(scaled + self.positions[: ids.shape[1]])
        return dropped

    def forward(self, source: Tensor, prefix: Tensor) -> Tensor:
        padding = source == PAD
        memory = self.encoder(self.embed(source), src_key_padding_mask=padding)
        hidden = self.decoder(
            self.embed(prefix),
            memory,
            tgt_mask=torch.ones(prefix.shape[1], prefix.shape[1], dtype=torch.bool).triu(1),
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return linear(hidden, self.embedding.weight)


def sinusoids(length: int, d_model: int) -> Tensor:
    """Positions as in the paper, sines before cosines."""
    rates = torch.exp(-math.log(10_000) * torch.arange(0, d_model, 2) / d_model)
    angles = torch.arange(length)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def train_model(model: nn.Module, forward: Forward, work: TrainingWork, turns: Turns) -> None:
    """Train endlessly, taking turns; `forward` computes the logits."""
    optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE, betas=(0.9, 0.98), eps=1e-9, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda update: min((update + 1) / WARMUP, math.sqrt(WARMUP / (update + 1)))
    )
    begin, end = torch.tensor([BOS]), torch.tensor([EOS])
    sources = [torch.cat([torch.tensor(source), end]) for source, _ in work.examples]
    prefixes = [torch.cat([begin, torch.tensor(target)]) for _, target in work.examples]
    targets = [torch.cat([torch.tensor(target), end]) for _, target in work.examples]

    def padded(side: list[Tensor], rows: list[int]) -> Tensor:
        return pad_sequence([side[row] for row in rows], batch_first=True, padding_value=PAD)

    model.train()
    for epoch in count():
        for rows in cut_batches(work.examples, work.batch_tokens, seed=epoch):
            source, prefix, target = padded(sources, rows), padded(prefixes, rows), padded(targets, rows)
            logits = forward(source, prefix)
            loss = cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            loss.item()  # as a loop that logs it does
            turns.count_update(sum(len(targets[row]) for row in rows))


def main(directory: str, places: str) -> None:
    work, turns = TrainingWork.open(Path(directory)), Turns()
    torch.set_num_threads(work.threads)
    torch.manual_seed(1)
    assert places in DROPOUT_PLACES
    model = PlainTransformer(work, places)
    train_model(model, model, work, turns)


if __name__ == "__main__":
    main(*sys.argv[1:])
