"""How a model is tuned on a memory of this size: a pure function, measured in docs/finetune.md. No torch."""

from dataclasses import dataclass
from typing import Literal

FEWEST_PAIRS = 100
FEW_SENTENCES = 200
"""Below so many held-out sentences, BLEU says little, and the loss is watched."""
_MOST_HELD_OUT = 1000
_VALIDATIONS = 10
_REPLAYED = 10
"""So many replayed pairs for each pair of the memory, at most: each epoch sees others."""


@dataclass(frozen=True, slots=True)
class TuningPlan:
    """The settings that depend on the sizes of memory and model."""

    epochs: float
    """Passes over the memory, at most; the in-domain score may end it sooner."""
    updates: int
    batch_tokens: int
    learning_rate: float
    warmup: int
    validate_every: int
    patience: int
    best_by: Literal["quality", "loss"]
    replay_weight: float
    """How often a replayed pair is seen in an epoch, so that all together count as much as the memory; 0 for none."""
    start_share: float
    """Share of the base in the tuned model, which guards against forgetting where nothing is replayed."""


def held_out_sizes(pairs: int) -> tuple[int, int]:
    """How many pairs of a memory are held out: to stop by, and to report on."""
    held_out = min(_MOST_HELD_OUT, max(60, pairs // 10), pairs // 5)
    return held_out // 3, held_out - held_out // 3


def most_replayed(pairs: int) -> int:
    """How many pairs of other text are kept for replay."""
    return _REPLAYED * pairs


def plan_tuning(
    pairs: int, tokens: int, d_model: int, *, valid: int, replay: int = 0, lora: bool = False
) -> TuningPlan:
    """For so many pairs to learn, with so many tokens on their longer sides, and a model with vectors of this size.

    `valid` is the number of held-out sentences to stop by, `replay` that of replayed pairs.
    """
    epochs = min(12.0, max(2.0, 12 * (1000 / pairs) ** 0.4))
    seen = tokens * (2 if replay else 1)
    batch_tokens = min(2048, max(512, 1 << (seen // 60).bit_length() - 1))
    updates = max(20, round(epochs * seen / batch_tokens))
    validate_every = max(1, updates // _VALIDATIONS)
    return TuningPlan(
        epochs=epochs,
        updates=updates,
        batch_tokens=batch_tokens,
        learning_rate=_rate(d_model) * (10 if lora else 1),
        warmup=max(1, updates // 20),
        validate_every=validate_every,
        patience=3,
        best_by="quality" if valid >= FEW_SENTENCES else "loss",
        replay_weight=min(1000.0, pairs / replay) if replay else 0.0,
        start_share=0.0 if replay else 0.5,
    )


def _rate(d_model: int) -> float:
    """2e-5 for a base model (d_model = 512), as OPUS-CAT has it; small models learn, and are tuned, at higher rates."""
    return 2e-5 * (512 / d_model) ** 2
