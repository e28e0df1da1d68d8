"""How a model of any task is trained; a task may add settings of its own. No torch here.

The defaults are the paper's recipe (Vaswani et al. 2017, §5).
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSettings:
    """Batches, optimizer, schedule, validation and checkpoints. One update is one step of the optimizer."""

    updates: int = 100_000
    """How many updates in all, counted from the very first, also after a resume."""
    seed: int = 1
    """Governs initial parameters, order of the data and dropout."""
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
    clip_norm: float = 1.0
    """Gradients with a larger norm are scaled down to it; 0 switches clipping off."""
    max_skipped: int = 10
    """An update whose loss or gradients are not finite is left out; after so many in a row, the run stops."""
    validate_every: int = 1000
    """Updates between two validations; each measures loss and BLEU on the validation set."""
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
            "keep_every": (
                self.keep_every >= 0 and self.keep_every % max(1, self.checkpoint_every) == 0,
                f"0 or a multiple of checkpoint_every, which is {self.checkpoint_every}",
            ),
            "threads": (self.threads is None or self.threads >= 1, "at least 1"),
        }
        broken = [(name, rule) for name, (holds, rule) in rules.items() if not holds]
        if broken:
            raise ValueError("; ".join(f"{name} must be {rule}, not {getattr(self, name)}" for name, rule in broken))


_NOT_NEGATIVE = ("patience", "average", "clip_norm", "keep_best")
_POSITIVE = (
    "updates",
    "accumulate",
    "warmup",
    "max_skipped",
    "validate_every",
    "checkpoint_every",
    "keep",
    "log_every",
)
