"""Who watches a tuning: override the methods that you want to hear of."""

from typing import TYPE_CHECKING

from saccade.evaluation.reporter import EvaluationReporter
from saccade.training.reporter import Reporter

if TYPE_CHECKING:
    from saccade.tasks.translation.settings import TranslationRecipe
    from saccade.tuning.split import Split


class TuningReporter(Reporter, EvaluationReporter):
    """Watches plan, preparation, training and evaluation in silence; override what you want to hear of."""

    def planned(self, recipe: "TranslationRecipe", split: "Split") -> None:
        """This is going to be done."""
