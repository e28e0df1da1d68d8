"""Who watches an evaluation: override the methods that you want to hear of."""


class EvaluationReporter:
    """Watches an evaluation in silence; override what you want to hear of."""

    def translating(self, system: str, total: int) -> None:
        """A model begins to translate so many lines."""

    def translated(self, count: int) -> None:
        """So many more lines are done."""

    def noted(self, remark: str) -> None:
        """Something that a reader of the scores should know."""
