"""How a model is trained. The defaults are the paper's recipe (Vaswani et al. 2017, §5); no torch here."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSettings:
    """Batches, optimizer, schedule, validation and checkpoints. One update is one step of the optimizer."""

    updates: int = 100_000
    """How many updates in all, counted from the very first, also after a resume."""
    seed: int = 1
    """Governs initial parameters, order of the data and dropout."""
    batch_tokens: int = 4096
    """Tokens of a batch on its longer side, padding included."""
    accumulate: int = 1
    """Batches whose gradients are added up before each update."""
    learning_rate: float | None = None
    """Highest learning rate, at the end of the warm-up; absent, the paper's (d_model · warmup)^-½."""
    warmup: int = 4000
    """Updates over which the learning rate rises."""
    schedule: Literal["inverse-sqrt", "linear"] = "inverse-sqrt"
    """How it falls after that: with the inverse square root (the paper), or in a line to zero at the last update,
    which a run then cannot change on its way."""
    adam_betas: tuple[float, ...] = (0.9, 0.98)
    """Adam's two decay rates."""
    adam_epsilon: float = 1e-9
    """Adam's ε."""
    label_smoothing: float = 0.1
    """Probability that the wanted token gives away to all others."""
    consistency: float = 0.0
    """R-Drop (Liang et al. 2021), for small corpora: each batch is read twice, under different dropout, and the loss
    gets this times the divergence between the two. 1 to 3 is usual (half of the paper's α); 0 is off. An update
    takes about twice as long."""
    clip_norm: float = 1.0
    """Gradients with a larger norm are scaled down to it; 0 switches clipping off."""
    max_skipped: int = 10
    """An update whose loss or gradients are not finite is left out; after so many in a row, the run stops."""
    validate_every: int = 1000
    """Updates between two validations; each measures loss and BLEU on the validation set."""
    validation_sentences: int = 2000
    """At most so many sentences of the validation set are translated for BLEU."""
    validation_beam: int = 1
    """Beam of the translations made for validation."""
    best_by: Literal["quality", "loss"] = "quality"
    """What makes a checkpoint the best so far: BLEU of translations (in another task its own measure), or the loss."""
    patience: int = 0
    """Stop after so many validations without a new best; 0 never stops early."""
    checkpoint_every: int = 1000
    """Updates between two checkpoints."""
    keep: int = 3
    """How many of the newest checkpoints stay on disk (as many as `average` at least)."""
    keep_best: int = 1
    """How many of the best stay as well, of those made at an update that was validated: to go on from, with their
    optimizer, where later updates were for the worse. The best model itself always stays, as the run's `model`."""
    keep_every: int = 0
    """Checkpoints at multiples of so many updates stay for ever; 0 keeps none of them."""
    average: int = 5
    """The last so many checkpoints are averaged at the end; the average is kept if it validates better still."""
    log_every: int = 50
    """Updates between two lines of metrics.jsonl."""
    tensorboard: bool = False
    """Also write TensorBoard event files, below the run's `tensorboard` directory."""
    warm_start: Path | None = None
    """A model directory whose parameters the run starts from; it must have the same settings and tokenizers."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16 multiplies matrices with 8 bits of precision (autocast), where the hardware is faster that way;
    parameters, loss and validation stay in float32."""
    compile: bool = False
    """Compile the model with torch.compile, which takes a minute or more; worth a try on a GPU."""
    shard: bool = False
    """Spread parameters, gradients and moments over all processes (FSDP2), for a model that does not fit into one."""
    device: str = "auto"
    """cpu, cuda, cuda:1, …; auto takes a GPU if there is one."""
    threads: int | None = None
    """CPU threads; absent, as many as there are cores."""

    def __post_init__(self) -> None:
        rules = {
            **{name: (getattr(self, name) >= 1, "at least 1") for name in _POSITIVE},
            **{name: (getattr(self, name) >= 0, "0 or more") for name in _NOT_NEGATIVE},
            "learning_rate": (self.learning_rate is None or self.learning_rate > 0, "above 0"),
            "adam_betas": (
                len(self.adam_betas) == 2 and all(0 <= beta < 1 for beta in self.adam_betas),
                "two numbers from 0 up to below 1",
            ),
            "adam_epsilon": (self.adam_epsilon > 0, "above 0"),
            "label_smoothing": (0 <= self.label_smoothing < 1, "at least 0 and below 1"),
            "keep_every": (
                self.keep_every >= 0 and self.keep_every % max(1, self.checkpoint_every) == 0,
                f"0 or a multiple of checkpoint_every, which is {self.checkpoint_every}",
            ),
            "threads": (self.threads is None or self.threads >= 1, "at least 1"),
        }
        broken = [(name, rule) for name, (holds, rule) in rules.items() if not holds]
        if broken:
            raise ValueError("; ".join(f"{name} must be {rule}, not {getattr(self, name)}" for name, rule in broken))


_NOT_NEGATIVE = ("patience", "average", "clip_norm", "keep_best", "consistency")
_POSITIVE = (
    "updates",
    "batch_tokens",
    "accumulate",
    "warmup",
    "max_skipped",
    "validate_every",
    "validation_sentences",
    "validation_beam",
    "checkpoint_every",
    "keep",
    "log_every",
)
