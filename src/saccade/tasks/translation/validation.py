"""How good a model is on the validation set: loss in nats per token, and BLEU of its translations."""

from collections.abc import Sequence

from saccade.data.corpus import Example
from saccade.engines.torch import TorchEngine
from saccade.evaluation.scores import bleu
from saccade.models.build import Model
from saccade.search.settings import SearchSettings
from saccade.tasks.translation.settings import TranslationTrainingSettings
from saccade.text.tokenizer import Tokenizers
from saccade.training.task import Validation


class Validator:
    """The validation set, encoded once."""

    def __init__(
        self, examples: Sequence[Example], tokenizers: Tokenizers, language: str, settings: TranslationTrainingSettings
    ) -> None:
        self.examples = examples
        self.decode = tokenizers.target.decode
        self.language = language
        self.settings = settings
        self.sources = tokenizers.source.encode_many(example.source for example in examples)
        self.targets = tokenizers.target.encode_many(example.target for example in examples)

    def __call__(self, model: Model, update: int, search: SearchSettings | None = None) -> Validation:
        """Score all known translations, translate the first of the sources, and compare."""
        engine = TorchEngine(model)
        log_probs = engine.score(self.sources, self.targets)
        num_tokens = sum(len(target) + 1 for target in self.targets)

        first = self.examples[: self.settings.validation_sentences]
        search = search or SearchSettings(beam=self.settings.validation_beam)
        hypotheses = engine.translate(self.sources[: len(first)], search)
        texts = [self.decode(best.ids) for best, *_ in hypotheses]
        chosen = update % len(first)
        return Validation(
            update=update,
            loss=-sum(log_probs) / num_tokens,
            quality=bleu(texts, [example.target for example in first], self.language),
            sample=(first[chosen].source, texts[chosen]),
        )
