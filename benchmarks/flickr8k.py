"""Captioners side by side: BLEU-4 on the validation images with its interval, and a page of where they look.

    saccade train recipes/flickr8k-en.toml
    saccade train recipes/flickr8k-en.toml --set run=runs/flickr8k-en-blind --set model.encoder=blind
    python -m benchmarks.flickr8k runs/flickr8k-en runs/flickr8k-en-blind
    python -m benchmarks.flickr8k runs/flickr8k-en --page runs/flickr8k-en/page.html

The page shows photographs of others: look at it, and do not publish it.
"""

import argparse
from pathlib import Path

import torch

from saccade import TaskModel, open_model
from saccade.tasks.captioning.task import PhotographsTask
from saccade.trace.overlay import overlay
from saccade.trace.words import words


def opened(path: Path) -> tuple[PhotographsTask, torch.nn.Module]:
    opened = open_model(path)
    if not isinstance(opened, TaskModel) or not isinstance(opened.task, PhotographsTask):
        raise SystemExit(f"{path} must hold a model of captions, but it has learned another task.")
    return opened.task, opened.model


def compare(paths: list[Path]) -> None:
    """A line for each model; the intervals tell whether a difference is one."""
    print("| model | parameters | loss | BLEU-4 | 95 % | without punctuation | 95 % | different captions |")
    print("|---" * 8 + "|")
    for path in paths:
        task, model = opened(path)
        found = task.evaluate(model)
        number = sum(parameter.numel() for parameter in model.parameters())
        scores = [
            f"{found[name]:.2f} | {found[f'{name}, lower']:.2f}–{found[f'{name}, upper']:.2f}"
            for name in ("BLEU", "bare BLEU")
        ]
        share = f"{found['different captions']:.1%}"
        print(f"| {path.name} | {number:,} | {found['loss']:.3f} | {' | '.join(scores)} | {share} |", flush=True)


def draw(path: Path, page: Path, number: int) -> None:
    """Every tenth validation image, with where was looked for each word."""
    task, model = opened(path)
    images = [each.image for each in task.valid[::10][:number]]
    sheets = [overlay(words(trace), title=trace.target.text) for trace in task.traces(model, images)]
    page.write_text("<!doctype html><meta charset=utf-8><title>Captions</title>" + "<hr>".join(sheets), "utf-8")
    print(page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+", help="model or run directories")
    parser.add_argument("--page", type=Path, help="instead, draw the first model's attention into this HTML file")
    parser.add_argument("--number", type=int, default=24, help="images of the page")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.page:
        draw(options.models[0], options.page, options.number)
    else:
        compare(options.models)


if __name__ == "__main__":
    main()
