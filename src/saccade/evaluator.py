"""Score translations or models against known translations, compare them, and look closer: what most users import."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade import __version__
from saccade.errors import DataError, MissingDependency, ModelError
from saccade.evaluation.attention import gaze
from saccade.evaluation.buckets import frequencies
from saccade.evaluation.comparison import Comparison, compare
from saccade.evaluation.page.page import page
from saccade.evaluation.report import Report, Submission, report, score_json
from saccade.evaluation.reporter import EvaluationReporter
from saccade.evaluation.significance import Test
from saccade.locate import is_name
from saccade.search.overrides import adjust_search
from saccade.search.settings import SearchSettings
from saccade.text.formats.opening import check_new, open_text
from saccade.text.languages import check_language
from saccade.translation import Translation
from saccade.translator import Translator, load

CHUNK = 200  # texts whose attention is held at a time
UNNAMED = ("run", "model")  # what a directory is called for what it is, not for what is in it

Lines = str | Path | Sequence[str]
"""A file of lines, or the lines themselves."""
System = Translator | Lines
"""A model or its directory; or translations, as a file or as lines."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The scores of one system or several, and all that a report is made of."""

    comparison: Comparison
    submissions: Mapping[str, Submission]
    """By system: its translations, and what else is known of it, such as its perplexity."""
    references: Sequence[Sequence[str]]
    sources: Sequence[str] | None

    def report(self, training_text: str | Path | None = None, *, grouped: bool = True) -> Report:
        """Buckets, odd translations and every sentence; rare words are those of `training_text`, a file of lines.

        Unless it is `grouped`, without buckets, which take most of the time.
        """
        counts = None if training_text is None else frequencies(open_text(Path(training_text)))
        return report(
            self.comparison,
            self.submissions,
            self.references,
            sources=self.sources,
            frequencies=counts,
            grouped=grouped,
        )

    def to_json(self) -> dict[str, Any]:
        """The whole report as plain values for `json.dumps`."""
        return self.report().to_json()

    def summary(self) -> dict[str, Any]:
        """Scores with their signatures and intervals alone, as plain values for `json.dumps`."""
        return {
            "language": self.comparison.language,
            "systems": [
                {"name": name, "scores": [score_json(score) for score in scores]}
                for name, scores in self.comparison.scores.items()
            ],
        }

    def write_report(self, path: str | Path, training_text: str | Path | None = None) -> Report:
        """Write the report as one HTML page to a new file."""
        check_new(Path(path), "written")
        made = self.report(training_text)
        with Path(path).open("x", encoding="utf-8", newline="\n") as file:
            file.write(page(made, version=__version__))
        return made


def evaluate(
    systems: System | Mapping[str, System],
    *,
    reference: Lines | Sequence[Lines],
    source: Lines | None = None,
    language: str | None = None,
    beam: int | None = None,
    test: Test = "bootstrap",
    attention: bool = False,
    reporter: EvaluationReporter | None = None,
) -> Evaluation:
    """Score translations, or what models make of `source`, against one reference or several.

    Several systems, by name, are compared with the first of them. A list of strings holds lines; several references are
    a list of paths or of lists. `language` is the target language, that of the models unless given. `attention` also
    measures where models look, for the report.
    """
    reporter = reporter or EvaluationReporter()
    if language:
        check_language(language, origin="language")
    named: Mapping[str, System] = systems if isinstance(systems, Mapping) else {default_name(systems): systems}
    references = [_Text.read(each, "known translation") for each in _several(reference)]
    sources = None if source is None else _Text.read(source, "text to translate")
    given = {name: _Text.read(each, "translation") for name, each in named.items() if not _is_model(each)}
    _check_counts([*references, *([sources] if sources else []), *given.values()])
    models = {name: _open(name, each, sources, language) for name, each in named.items() if name not in given}
    language = language or _one_language(models)
    known = [text.lines for text in references]
    submissions = {}
    for name in named:
        if name in given:
            submissions[name] = Submission(given[name].lines)
        else:
            assert sources is not None
            reporter.translating(name, len(sources.lines))
            submissions[name] = _submit(models[name], sources, known[0], beam, attention, reporter)
    texts = {name: submission.translations for name, submission in submissions.items()}
    compared = compare(texts, known, language=language, test=test)
    return Evaluation(compared, submissions, known, None if sources is None else sources.lines)


def default_name(system: System) -> str:
    """What a system is called: its file, or the directory around a run or a model."""
    if not isinstance(system, Translator | str | Path):
        return "translations"
    path = system.directory.path if isinstance(system, Translator) else Path(system)
    while path.name in UNNAMED and path.parent.name:
        path = path.parent
    return path.name


@dataclass(frozen=True, slots=True)
class _Text:
    """Lines, and where they come from."""

    origin: str
    lines: list[str]

    @classmethod
    def read(cls, given: System, what: str) -> "_Text":
        assert not isinstance(given, Translator)
        if isinstance(given, str | Path):
            origin, lines = str(given), list(open_text(Path(given)))
        else:
            origin, lines = f"A list of each {what}", list(given)
        if not lines:
            raise DataError(f"{origin} must hold at least one {what}, but it is empty.")
        return cls(origin, lines)


def _is_model(system: System) -> bool:
    if not isinstance(system, str | Path):
        return isinstance(system, Translator)
    return is_name(system) or Path(system).is_dir()


def _open(name: str, system: System, sources: _Text | None, language: str | None) -> Translator:
    """A model, bound to one target language: a code that is not its own may be another name for it."""
    if sources is None:
        raise DataError(f"{name} is a model, which needs texts to translate, but there is no source. Give one.")
    translator = system if isinstance(system, Translator) else load(str(system))
    return translator.toward(language if len(translator.directions) > 1 else None)


def _several(reference: Lines | Sequence[Lines]) -> Sequence[Lines]:
    if isinstance(reference, str | Path) or all(isinstance(each, str) for each in reference):
        return [reference]  # type: ignore[list-item]  # the lines of one
    return reference


def _check_counts(texts: Sequence[_Text]) -> None:
    """Refuse texts of unequal length; each is named with its own."""
    if len({len(text.lines) for text in texts}) > 1:
        *first, last = (f"{text.origin} has {len(text.lines):,}" for text in texts)
        raise DataError(
            f"Line n of every file must belong to line n of the others, but {', '.join(first)} and {last} lines. Find "
            "the line that is missing or was split in two; a blank line counts as a line."
        )


def _submit(
    translator: Translator,
    sources: _Text,
    references: list[str],
    beam: int | None,
    attention: bool,
    reporter: EvaluationReporter,
) -> Submission:
    """The translations of a model, its perplexity on the reference, and where it looks."""
    search = adjust_search(translator.search, beam, 1, origin="evaluate")
    looks, remark = attention, ""
    try:
        if attention:
            translator.engine.need_attention()
    except (ModelError, MissingDependency) as error:
        looks, remark = False, str(error)
    texts, gazes = [], []
    for number, translation in enumerate(_translations(translator, sources.lines, search, looks, reporter), start=1):
        for each in translation.notes:
            reporter.noted(f"{sources.origin}, line {number} {each}")
        texts.append(translation.text)
        gazes.append(None if translation.attention is None else gaze(translation.attention))
    encoded = translator.directory.tokenizers.target.encode_many(references)
    num_tokens = sum(len(ids) + 1 for ids in encoded)
    loss = -sum(translator.score(sources.lines, references)) / num_tokens
    facts = {"perplexity": math.exp(loss), "tokens": num_tokens, "beam": search.beam}
    return Submission(texts, gazes if looks else None, facts, remark)


def _translations(
    translator: Translator, sources: list[str], search: SearchSettings, attention: bool, reporter: EvaluationReporter
) -> Iterator[Translation]:
    """In order, every text whole; with attention, a part at a time, as the weights of all fill the memory."""
    size = CHUNK if attention else max(1, len(sources))
    for begin in range(0, len(sources), size):
        part = sources[begin : begin + size]
        yield from translator.translate(
            part, search=search, attention=attention, split="never", advanced=reporter.translated
        )


def _one_language(models: Mapping[str, Translator]) -> str:
    """What all models translate into; empty without a model."""
    languages = {name: model.directory.description.target_language for name, model in models.items()}
    if len(set(languages.values())) > 1:
        listed = ", ".join(f"{name} into {language}" for name, language in languages.items())
        raise DataError(
            f"Models that are compared must translate into one language, but these do not: {listed}. Compare others, "
            "or give the language if both names mean the same."
        )
    return next(iter(languages.values()), "")
