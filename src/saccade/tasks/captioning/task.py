"""Captioning: photographs with what people said of them, or generated scenes of digits."""

from saccade.tasks.captioning.digits_task import DigitsTask
from saccade.tasks.captioning.photographs import PhotographsTask
from saccade.tasks.captioning.settings import CaptionsRecipe, DigitsRecipe
from saccade.text.tokenizer import Tokenizers
from saccade.training.task import Task


def open_task(recipe: CaptionsRecipe | DigitsRecipe, tokenizers: Tokenizers | None = None) -> Task:
    """The task of a recipe, with the tokenizers of a finished model if there is one."""
    if isinstance(recipe, DigitsRecipe):
        return DigitsTask.of(recipe)
    return PhotographsTask(recipe, None if tokenizers is None else tokenizers.target)
