"""Every task that the contracts are run on, as a recipe that takes moments; a new task needs an entry here."""

import random
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from tests.tasks.captioning.walls import write_walls
from torch import Tensor, nn

from saccade import Recipe
from saccade.tasks.build import open_task
from saccade.training.reporter import Reporter
from saccade.training.task import Task

TRAINING = """
[training]
updates = 6
seed = 7
learning_rate = 0.01
warmup = 2
validate_every = 3
checkpoint_every = 2
average = 2
keep = 1
log_every = 1
device = "cpu"
threads = 1
"""
"""Checkpoints at 2, 4 and 6, validations at 3 and 6. The seed is not the default, which a lost one would become."""


@dataclass(frozen=True)
class Tiny:
    """A recipe without `run`, and what it learns from."""

    sections: str
    """The sections [task], [model] and so on."""
    changed: str
    """A setting that changes the data, or for files a line more of `file`."""
    training: str = ""
    """What the task adds to [training]."""
    write: Callable[[Path], None] = lambda directory: None
    """Write the files that it learns from."""
    file: str = ""
    """One of those files."""
    text: str | None = None
    """What is to be shown; an example of the task if absent."""
    attends: bool = True
    """Whether there are weights to show."""
    to: tuple[str, ...] = ()
    """What names the language to translate to, where a model has several."""

    def recipe(self, directory: Path) -> Path:
        """Written below a directory with its files, unless it is there."""
        path = directory / "recipe.toml"
        if path.exists():
            return path
        directory.mkdir(parents=True)
        self.write(directory)
        path.write_text(f'run = "run"\n{self.sections}{TRAINING}{self.training}\n', "utf-8")
        return path

    def open(self, directory: Path, *overrides: str) -> Task:
        """The task with its data, ready to learn from."""
        task = open_task(Recipe.load(self.recipe(directory), overrides))
        task.prepare(Reporter())
        return task


def every_task() -> dict[str, Tiny]:
    """By the kind of the task, perhaps with the kind of model after a comma."""
    return {
        "translation": Tiny(
            """
            task = { kind = "translation" }
            [data]
            source_language = "en"
            target_language = "de"
            train = [{ file = "train.tsv" }]
            valid = { file = "valid.tsv" }
            [tokenizer]
            kind = "char"
            vocabulary = 12
            byte_fallback = false
            sampling = 0.0
            [model]
            layers = 1
            d_model = 8
            d_feedforward = 8
            num_heads = 2
            [search]
            beam = 2
            max_length_extra = 4
            """,
            changed="abc\tcba\n",
            training="batch_tokens = 48",
            write=_write_strings,
            file="train.tsv",
            text="abc",
        ),
        "translation, directions": Tiny(
            """
            [data]
            hold_out = 4
            temperature = 2
            [[data.train]]
            file = "train.tsv"
            source_language = "en"
            target_language = "de"
            both_ways = true
            [[data.train]]
            file = "valid.tsv"
            source_language = "en"
            target_language = "zh"
            hold_out = 1
            weight = 2
            [tokenizer]
            kind = "char"
            vocabulary = 15
            byte_fallback = false
            [model]
            layers = 1
            d_model = 8
            d_feedforward = 8
            num_heads = 2
            [search]
            beam = 2
            max_length_extra = 4
            """,
            changed="abc\tcba\n",
            training="batch_tokens = 48",
            write=_write_strings,
            file="train.tsv",
            text="abc",
            to=("--to", "de"),
        ),
        "captions": Tiny(
            """
            [task]
            kind = "captions"
            images = "images"
            train = "train.tsv"
            valid = "valid.tsv"
            network = "network.safetensors"
            features = "features"
            vocabulary = 300
            batch = 4
            [model]
            d_model = 8
            dropout = 0.1
            [search]
            beam = 2
            max_length_extra = 4
            """,
            changed="red0.png\tanother wall\n",
            write=write_walls,
            file="train.tsv",
        ),
        "digits": _digits('attention = "soft"'),
        "digits, hard": _digits('attention = "hard"'),
        "digits, mean": _digits('attention = "mean"', attends=False),
        "documents": _documents("attention", text="w10 w11. MARKER class2 w12."),
        "documents, average": _documents("average", attends=False),
        "documents, flat": _documents("flat"),
        "facets": _facets("features"),
        "facets, scalar": _facets("scalar"),
        "lookup": _lookup("attention"),
        "lookup, mean": _lookup("mean", attends=False),
        "glyphs": _glyphs(attends=True),
        "glyphs, convolutions": _glyphs(attends=False),
        "copy": _episodes("copy", "longest = 3", "longest = 4", text="01 11"),
        "copy, LSTM": replace(
            _episodes("copy", "longest = 3", "longest = 4", model='kind = "lstm"\nlayers = 2\nd_model = 4'),
            attends=False,
        ),
        "repeat-copy": _episodes("repeat-copy", "longest = 2\nmost = 2", "most = 3"),
        "recall": _episodes("recall", "length = 1\nmost = 2", "most = 3"),
        "priority-sort": _episodes("priority-sort", "given = 4\nwanted = 2", "wanted = 3"),
        "ngrams": replace(_episodes("ngrams", "order = 2\nlength = 6", "length = 7", bits=""), text=None),
        "sort": _points("sort", text="0.3 0.1 0.2"),
        "sort, index": _points("sort", 'output = "index"\nnum_positions = 8'),
        "hull": _points("hull", text="0.1,0.1 0.9,0.2 0.5,0.8"),
        "tour": _points("tour", 'choices = "all"'),
        "scenes": _scenes("parallel", text="3"),
        "scenes, alternating": _scenes("alternating"),
        "scenes, mean": _scenes("mean", attends=False),
        "scenes, image": _scenes("image"),
        "scenes, question": _scenes("question"),
    }


def _digits(attention: str, **more: Any) -> Tiny:
    task = '[task]\nkind = "digits"\nbatch = 4\nsize = 16\ndigits = 1\nclutter = 1\neasy = 3\n'
    model = f'[model]\nkind = "captioner"\nencoder = "residual"\nd_model = 8\ndropout = 0.1\n{attention}\n'
    return Tiny(task + model, changed="task.clutter=2", **more)


def _documents(pooling: str, **more: Any) -> Tiny:
    task = '[task]\nkind = "documents"\nbatch = 4\nmin_sentences = 2\nmax_sentences = 3\nnum_words = 4\n'
    return Tiny(f'{task}[model]\npooling = "{pooling}"\nd_model = 8\ndropout = 0.1\n', "task.num_words=5", **more)


def _facets(pooling: str) -> Tiny:
    task = '[task]\nkind = "facets"\nbatch = 4\nmin_length = 2\nmax_length = 4\nnum_values = 3\n'
    return Tiny(f'{task}[model]\npooling = "{pooling}"\nd_model = 8\n', "task.max_length=5")


def _lookup(reads: str, *, attends: bool = True) -> Tiny:
    task = '[task]\nkind = "lookup"\nbatch = 4\nmin_pairs = 2\nmax_pairs = 4\nnum_keys = 6\nnum_values = 3\n'
    model = f'[model]\nreads = "{reads}"\nd_model = 8\n'
    return Tiny(task + model, "task.max_pairs=5", text="k1=v2 k3=v0 k1" if attends else None, attends=attends)


def _glyphs(*, attends: bool) -> Tiny:
    model = f"[model]\nattends = {str(attends).lower()}\nd_model = 8\n"
    return Tiny(f'[task]\nkind = "glyphs"\nbatch = 4\nside = 24\n{model}', "task.noise=0.1", attends=attends)


def _episodes(kind: str, sizes: str, changed: str, *, bits: str = "bits = 2", model: str = "", **more: Any) -> Tiny:
    model = model or "d_controller = 8\nrows = 8\nd_row = 4\nread_heads = 2"
    sections = f'[task]\nkind = "{kind}"\nbatch = 4\n{bits}\n{sizes}\n[model]\n{model}\n'
    return Tiny(sections, f"task.{changed.replace(' ', '')}", **more)


def _points(kind: str, model: str = "", **more: Any) -> Tiny:
    task = f'[task]\nkind = "{kind}"\nbatch = 4\nsmallest = 3\nlargest = 5\ntest_sizes = [3, 6]\n'
    return Tiny(f"{task}[model]\nd_model = 8\n{model}\n[search]\nbeam = 2\n", "task.largest=6", **more)


def _scenes(reads: str, **more: Any) -> Tiny:
    task = '[task]\nkind = "scenes"\nbatch = 4\n'
    return Tiny(f'{task}[model]\nreads = "{reads}"\nd_model = 8\n', "task.num_colours=5", **more)


def _write_strings(directory: Path) -> None:
    """Strings with their reversals, which are as long as one another only now and then."""
    draw = random.Random(1)
    strings = sorted({"".join(draw.choices("abcdef", k=draw.randint(1, 7))) for _ in range(60)})
    for name, chosen in (("train", strings[6:]), ("valid", strings[:6])):
        (directory / f"{name}.tsv").write_text("".join(f"{each}\t{each[::-1]}\n" for each in chosen), "utf-8")


# Batches are dataclasses of tensors whose annotations name the axes.


def tensors(batch: Any) -> dict[str, tuple[Tensor, list[str]]]:
    """The tensors of a batch by name, each with the names of its axes."""
    given = {field.name: (getattr(batch, field.name), field.type) for field in fields(batch)}
    return {name: (value, kind.dim_str.split()) for name, (value, kind) in given.items() if isinstance(value, Tensor)}


def num_rows(batch: Any) -> int:
    """Examples of a batch."""
    return next(len(value) for value, axes in tensors(batch).values() if axes[0] == "batch")


def take(batch: Any, rows: slice) -> Any:
    """Some examples by themselves, without the padding that only the others need."""
    chosen = {name: value[rows] for name, (value, axes) in tensors(batch).items() if axes[0] == "batch"}
    if "image_of" in chosen:  # several captions may be of one image
        chosen |= {"images": batch.images[chosen["image_of"]], "image_of": torch.arange(len(chosen["image_of"]))}
    taken = replace(batch, **chosen)
    for axis in _padded_axes(taken):
        real = [_along(value, axes, axis) for value, axes in tensors(taken).values() if value.dtype == torch.bool]
        length = 1 + max(int(mask.nonzero().max()) for mask in real if mask is not None)
        taken = replace(
            taken,
            **{
                name: value.narrow(axes.index(axis), 0, length)
                for name, (value, axes) in tensors(taken).items()
                if axis in axes
            },
        )
    return taken


def widen(batch: Any, by: int = 2) -> Any:
    """The same with more padding."""
    for axis in _padded_axes(batch):
        wider = {}
        for name, (value, axes) in tensors(batch).items():
            if axis in axes:
                shape = [by if other == axis else size for other, size in zip(axes, value.shape, strict=True)]
                wider[name] = torch.cat([value, value.new_zeros(shape)], dim=axes.index(axis))
        batch = replace(batch, **wider)
    return batch


def as_double(batch: Any) -> Any:
    """The same in float64."""
    given = tensors(batch).items()
    return replace(batch, **{name: value.double() for name, (value, _) in given if value.is_floating_point()})


def _padded_axes(batch: Any) -> list[str]:
    """Those that a mask tells about."""
    masks = [axes[1:] for value, axes in tensors(batch).values() if value.dtype == torch.bool]
    return list(dict.fromkeys(axis for axes in masks for axis in axes))


def _along(mask: Tensor, axes: list[str], axis: str) -> Tensor | None:
    """Where there is anything along one axis of a mask."""
    if axis not in axes:
        return None
    others = [place for place, other in enumerate(axes) if other != axis]
    return mask.any(dim=others)


def precise_model(task: Task) -> nn.Module:
    """A new model in float64 without dropout, always the same."""
    torch.manual_seed(1)
    model = task.build().double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() <= 1:  # a bias of zero, or a gain of one, could be left out unnoticed
                parameter += 0.3 * torch.randn_like(parameter)
    return model
