"""The work that is the same for all contestants: sentences, sizes, batches, and what a token costs.

Standard library only: other toolkits import this from environments of their own.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from saccade.models.settings import TransformerSettings

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""As in saccade.text.tokenizer, which needs SentencePiece."""
SIZES = {name: TransformerSettings(**TransformerSettings.PRESETS[name]) for name in ("tiny", "base")}
"""Post-norm, as in the paper; tied embeddings for source, target and output."""
BATCH_TOKENS = 4096
"""Target tokens of a batch, padding and EOS included."""
VOCABULARY = 8000
THREADS = 2

DropoutPlaces = Literal["paper", "feed-forward", "everywhere"]
DROPOUT_PLACES: dict[DropoutPlaces, str] = {
    "paper": "residual",
    "feed-forward": "residual, feed-forward",
    "everywhere": "residual, feed-forward, attention",
}
"""Where dropout is applied besides the embeddings: the sub-layers' outputs as in the paper, the activations within
feed-forward layers, the attention weights. torch.nn.Transformer and the toolkits apply it everywhere."""


@dataclass(frozen=True, kw_only=True)
class TrainingWork:
    """A directory with everything that a contestant reads; `training.corpus` writes it."""

    directory: Path
    corpus: str
    """A description of the sentences."""
    size: str
    model: TransformerSettings
    vocabulary: int
    batch_tokens: int
    threads: int

    @classmethod
    def open(cls, directory: Path) -> "TrainingWork":
        """Read what `save` wrote."""
        table = json.loads((directory / "work.json").read_text(encoding="utf-8"))
        return cls(**table | {"directory": directory, "model": TransformerSettings(**table["model"])})

    def save(self) -> None:
        """Write it for other processes."""
        table = {name: value for name, value in asdict(self).items() if name != "directory"}
        (self.directory / "work.json").write_text(json.dumps(table, indent=1), encoding="utf-8")

    def dropout_rates(self, places: DropoutPlaces) -> dict[str, float]:
        """Rates by the names of our settings."""
        rate = self.model.dropout
        return {
            "dropout": rate,
            "activation_dropout": 0.0 if places == "paper" else rate,
            "attention_dropout": rate if places == "everywhere" else 0.0,
        }

    @cached_property
    def examples(self) -> list[tuple[list[int], list[int]]]:
        """Token ids of every source and target, without BOS and EOS."""
        examples: list[list[list[int]]] = json.loads((self.directory / "examples.json").read_text(encoding="utf-8"))
        return [(source, target) for source, target in examples]

    @property
    def epoch_tokens(self) -> int:
        """Target tokens of an epoch, EOS included."""
        return sum(len(target) + 1 for _, target in self.examples)

    def file(self, side: Literal["source", "target"]) -> Path:
        """The same sentences in pieces, for toolkits that read text: a sentence a line, spaces between pieces."""
        return self.directory / f"train.{side}"

    @property
    def pieces(self) -> Path:
        """The vocabulary, a piece a line; its first four are specials."""
        return self.directory / "vocabulary.txt"

    @cached_property
    def flops_per_token(self) -> float:
        """Multiplications and additions of an update for each target token, those of its source included.

        Matrix products only: forward once, backward twice. Padding does not count.
        """
        sources, targets = ([len(ids) + 1 for ids in side] for side in zip(*self.examples, strict=True))
        source, target = sum(sources) / len(sources), sum(targets) / len(targets)
        d, inner, layers = self.model.d_model, self.model.d_feedforward, self.model.layers
        for_source = 4 * d * d + 2 * d * inner + 2 * d * source  # an encoder layer
        for_source += 2 * d * d  # keys and values of a decoder layer's cross-attention
        for_target = 6 * d * d + 2 * d * inner + 2 * d * (target / 2 + source)
        products = layers * (for_source * source / target + for_target) + d * self.vocabulary
        return 3 * 2 * products


def cut_batches(examples: Sequence[tuple[Sequence[int], Sequence[int]]], max_tokens: int, seed: int) -> list[list[int]]:
    """Rows of each batch of an epoch, as a careful user cuts them: sorted by length, then the batches shuffled.

    Rows times the longest target, its EOS included, stay within `max_tokens`.
    """
    generator = random.Random(seed)
    order = list(range(len(examples)))
    generator.shuffle(order)
    order.sort(key=lambda row: (len(examples[row][1]), len(examples[row][0])))
    batches: list[list[int]] = []
    for row in order:  # each is at least as long as those before
        if not batches or (len(batches[-1]) + 1) * (len(examples[row][1]) + 1) > max_tokens:
            batches.append([])
        batches[-1].append(row)
    generator.shuffle(batches)
    return batches
