"""Text in, translation out: normalise → tokenize → search → tokens → text. What most users import."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from saccade.directory import ModelDirectory
from saccade.errors import need_torch
from saccade.search.settings import SearchSettings
from saccade.trace.trace import AttentionTrace, Layer, Tokens

if TYPE_CHECKING:
    from saccade.engines.torch import TorchEngine
    from saccade.search.hypothesis import Hypothesis

END = "</s>"


@dataclass(frozen=True, slots=True)
class Translation:
    """One way to say a text in the other language."""

    source: str
    """The text as it was given."""
    text: str
    """The translation."""
    score: float = 0.0
    """What ranked it: log-probability made comparable between lengths."""
    log_prob: float = 0.0
    """Its log-probability under the model."""
    tokens: tuple[str, ...] = ()
    """The tokens that the translation was written in."""
    attention: AttentionTrace | None = field(default=None, repr=False, compare=False)
    """What each token was attending to; None unless asked for."""
    alternatives: tuple["Translation", ...] = field(default=(), repr=False)
    """The next best ones, if more than one was asked for."""
    notes: tuple[str, ...] = ()
    """What the reader should know, such as a source longer than the model has ever seen."""

    def __str__(self) -> str:
        return self.text


def load(path: str | Path, *, device: str = "cpu") -> "Translator":
    """Open a model directory, or the run directory of a training, to translate with."""
    directory = ModelDirectory.open(Path(path))
    need_torch("Translating")
    from saccade.engines.torch import TorchEngine

    return Translator(directory, TorchEngine.load(directory, device))


class Translator:
    """A model ready to translate."""

    def __init__(self, directory: ModelDirectory, engine: "TorchEngine") -> None:
        self.directory = directory
        self.engine = engine

    def __repr__(self) -> str:
        description = self.directory.description
        return f"<Translator {description.source_language} → {description.target_language}, {self.directory.path}>"

    @overload
    def translate(
        self, texts: str, *, search: SearchSettings | None = None, attention: bool = False
    ) -> Translation: ...

    @overload
    def translate(
        self,
        texts: list[str],
        *,
        search: SearchSettings | None = None,
        attention: bool = False,
        advanced: Callable[[int], None] = ...,
    ) -> list[Translation]: ...

    def translate(
        self,
        texts: str | list[str],
        *,
        search: SearchSettings | None = None,
        attention: bool = False,
        advanced: Callable[[int], None] = lambda _: None,
    ) -> Translation | list[Translation]:
        """Translate one text or many; the n-th translation belongs to the n-th text, blank ones included.

        `search` is the model's own unless given. `advanced` is told how many more texts are done.
        """
        if isinstance(texts, str):
            return self.translate([texts], search=search, attention=attention)[0]
        sources = self.directory.tokenizers.source.encode_many(texts)
        real = [row for row, source in enumerate(sources) if source]
        advanced(len(texts) - len(real))
        found = self.engine.translate(
            [sources[row] for row in real], search or self.search, weights=attention, advanced=advanced
        )
        translations = [Translation(text, "") for text in texts]
        for row, hypotheses in zip(real, found, strict=True):
            best, *others = (self._translation(texts[row], sources[row], each) for each in hypotheses)
            translations[row] = replace(best, alternatives=tuple(others), notes=self._notes(sources[row]))
        return translations

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """log p(target | source) of each pair, in nats."""
        tokenizers = self.directory.tokenizers
        return self.engine.score(tokenizers.source.encode_many(sources), tokenizers.target.encode_many(targets))

    @property
    def search(self) -> SearchSettings:
        """How this model translates unless told otherwise."""
        return self.directory.description.search

    def _translation(self, text: str, source: list[int], hypothesis: "Hypothesis") -> Translation:
        target = self.directory.tokenizers.target
        tokens = tuple(target.piece(id) for id in hypothesis.ids)
        return Translation(
            source=text,
            text=target.decode(hypothesis.ids),
            score=hypothesis.score,
            log_prob=hypothesis.log_prob,
            tokens=tokens,
            attention=self._trace(source, tokens, hypothesis) if hypothesis.weights else None,
        )

    def _trace(self, source: list[int], tokens: tuple[str, ...], hypothesis: "Hypothesis") -> AttentionTrace:
        pieces = tuple(self.directory.tokenizers.source.piece(id) for id in source)
        return AttentionTrace(
            source=Tokens((*pieces, END)),
            target=Tokens((*tokens, END) if hypothesis.finished else tokens),
            layers=tuple(
                Layer(name, "cross", weights[..., : len(source) + 1].float().cpu().numpy())
                for name, weights in hypothesis.weights.items()
            ),
            score=hypothesis.score,
            log_prob=hypothesis.log_prob,
        )

    def _notes(self, source: list[int]) -> tuple[str, ...]:
        longest = self.directory.description.max_tokens
        if len(source) <= longest:
            return ()
        return (
            f"has {len(source)} tokens, but the model was trained on at most {longest}: "
            "check this translation, or split the text into sentences",
        )
