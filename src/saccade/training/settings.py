"""How a model of any task is trained: by default, the paper's recipe (Vaswani et al. 2017, §5). No torch here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Gt, Interval

from saccade.fields import Changeable, Checked, NotNegative, Positive, Probability, Seed, Weight


@dataclass(frozen=True, kw_only=True, slots=True)
class LoraSettings(Checked):
    """LoRA (Hu et al. 2022): matrices get a trained change of low rank, scale · B·A, and all else stays as it is."""

    rank: Annotated[int, Interval(ge=1, le=1024)] = 16
    """Rank of the change: how many directions a matrix may change in. Checkpoints grow with it."""
    scale: Annotated[float, Interval(gt=0, le=1000)] = 2.0
    """Factor of the change, α/rank in the paper. A larger one acts like a higher learning rate."""
    layers: Literal["all", "attention", "feed-forward"] = "all"
    """Which matrices change: those of attention, of the feed-forward layers, or all but the embeddings."""
    merged: bool = True
    """The saved model holds all parameters, the change included. False stores the change alone, a small file that
    needs the model that training started from, unchanged and in its place, and is merged with it at load."""

    def changes(self, name: str, dimensions: int) -> bool:
        """Whether the parameter of this name is a matrix that is changed."""
        words = {"all": "", "attention": "attention", "feed-forward": "feed_forward"}
        return dimensions == 2 and "embedding" not in name and words[self.layers] in name


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSettings(Checked):
    """Batches, optimizer, schedule, validation and checkpoints. One update is one step of the optimizer."""

    updates: Changeable[Positive] = 100_000
    """How many updates in all, counted from the very first, also after a resume."""
    seed: Seed = 1
    """Governs initial parameters, order of the data and dropout."""
    accumulate: Positive = 1
    """Batches whose gradients are added up before each update."""
    learning_rate: Annotated[float, Gt(0)] | None = None
    """Highest learning rate, at the end of the warm-up; absent, the paper's (d_model · warmup)^-½."""
    warmup: Positive = 4000
    """Updates over which the learning rate rises."""
    schedule: Literal["inverse-sqrt", "linear", "trapezoidal"] = "inverse-sqrt"
    """How it falls after that: inverse-sqrt with the inverse square root (the paper); linear in a line to zero at the
    last update, which a run then cannot change on its way; trapezoidal so over the last fifth of the updates only,
    whose number may change until then."""
    adam_betas: tuple[Probability, Probability] = (0.9, 0.98)
    """Adam's two decay rates."""
    adam_epsilon: Annotated[float, Gt(0)] = 1e-9
    """Adam's ε."""
    clip_norm: Weight = 1.0
    """Gradients with a larger norm are scaled down to it; 0 switches clipping off."""
    max_skipped: Changeable[Positive] = 10
    """An update whose loss or gradients are not finite is skipped; after this number in a row, the run stops."""
    validate_every: Changeable[Positive] = 1000
    """Updates between two validations; each measures loss and BLEU on the validation set."""
    best_by: Literal["quality", "loss"] = "quality"
    """What makes a checkpoint the best so far: BLEU of translations (in another task its own measure), or the loss."""
    patience: Changeable[NotNegative] = 0
    """Stop after this number of validations without a new best; 0 never stops early."""
    checkpoint_every: Changeable[Positive] = 1000
    """Updates between two checkpoints."""
    keep: Changeable[Positive] = 3
    """How many of the newest checkpoints stay on disk (as many as `average` at least)."""
    keep_best: Changeable[NotNegative] = 1
    """How many of the best stay as well, of those made at an update that was validated: to go on from, with their
    optimizer, where later updates were for the worse. The best model itself always stays, as the run's `model`."""
    keep_every: Changeable[NotNegative] = 0
    """Checkpoints at multiples of this number of updates stay for ever; 0 keeps none of them."""
    average: Changeable[NotNegative] = 5
    """This number of last checkpoints is averaged at the end; the average is kept if it validates better still."""
    log_every: Changeable[Positive] = 50
    """Updates between two lines of metrics.jsonl."""
    tensorboard: Changeable[bool] = False
    """Also write TensorBoard event files, below the run's `tensorboard` directory."""
    shard: Changeable[bool] = False
    """Spread parameters, gradients and moments over all processes (FSDP2), for a model that does not fit into one."""
    device: Changeable[str] = "auto"
    """cpu, cuda, cuda:1, …; auto takes a GPU if there is one."""
    threads: Changeable[Annotated[int, Interval(ge=1, le=1024)] | None] = None
    """CPU threads; absent, as many as there are cores."""

    def conflicts(self) -> Iterator[str]:
        if self.keep_every % self.checkpoint_every:
            multiple = f"a multiple of checkpoint_every, which is {self.checkpoint_every}"
            yield f"keep_every must be 0 or {multiple}, not {self.keep_every}"
