"""All that is found out about one system or several on a test set; the page and the JSON are made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from saccade.evaluation import buckets
from saccade.evaluation.attention import Gaze
from saccade.evaluation.buckets import Grouping
from saccade.evaluation.comparison import Comparison
from saccade.evaluation.scores import CorpusScore
from saccade.evaluation.sentences import Oddities, Sentence, describe, oddities


@dataclass(frozen=True, slots=True)
class Submission:
    """What one system hands in."""

    translations: Sequence[str]
    gazes: Sequence[Gaze | None] | None = None
    """Of a model that was asked for its attention."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else is known of it, such as its perplexity."""
    remark: str = ""
    """What its reader should know, such as why its attention is missing."""


@dataclass(frozen=True, slots=True)
class System:
    """What is found out about one system."""

    name: str
    scores: tuple[CorpusScore, ...]
    oddities: Oddities
    sentences: tuple[Sentence, ...]
    facts: Mapping[str, Any]
    remark: str


@dataclass(frozen=True, slots=True)
class Report:
    """Line n of the sources, of each reference and of each system's sentences belong together."""

    language: str
    samples: int
    """How many resampled test sets the intervals are made of."""
    systems: tuple[System, ...]
    references: tuple[tuple[str, ...], ...]
    sources: tuple[str, ...] | None
    groupings: tuple[Grouping, ...]

    def __len__(self) -> int:
        return len(self.references[0])

    def to_json(self) -> dict[str, Any]:
        """As plain values for `json.dumps`; rows are counted from 0."""
        return {
            "language": self.language,
            "systems": [
                {
                    "name": each.name,
                    "scores": [score_json(score) for score in each.scores],
                    **each.facts,
                    "oddities": asdict(each.oddities),
                    **({"remark": each.remark} if each.remark else {}),
                }
                for each in self.systems
            ],
            "groupings": [_grouping_json(each) for each in self.groupings],
            "sentences": [
                {
                    **({"source": self.sources[row]} if self.sources else {}),
                    "references": [lines[row] for lines in self.references],
                    "systems": {each.name: asdict(each.sentences[row]) for each in self.systems},
                }
                for row in range(len(self))
            ],
        }


def report(
    comparison: Comparison,
    submissions: Mapping[str, Submission],
    references: Sequence[Sequence[str]],
    *,
    sources: Sequence[str] | None = None,
    frequencies: Mapping[str, int] | None = None,
    grouped: bool = True,
) -> Report:
    """Look closer at systems that were compared; `frequencies` are those of the words in a training text.

    Unless it is `grouped`, sentences are not put into buckets, which takes most of the time.
    """
    systems = []
    for name, handed_in in submissions.items():
        counts = comparison.counts[name]
        sentences = describe(
            handed_in.translations, references, sources, counts, language=comparison.language, gazes=handed_in.gazes
        )
        found = oddities(sentences, counts), tuple(sentences)
        systems.append(System(name, comparison.scores[name], *found, handed_in.facts, handed_in.remark))
    return Report(
        comparison.language,
        comparison.samples,
        tuple(systems),
        tuple(tuple(lines) for lines in references),
        None if sources is None else tuple(sources),
        _groupings(comparison, references[0], sources, frequencies) if grouped else (),
    )


def _groupings(
    comparison: Comparison,
    reference: Sequence[str],
    sources: Sequence[str] | None,
    frequencies: Mapping[str, int] | None,
) -> tuple[Grouping, ...]:
    """By the length of the sentences, by their rarest words, and by what they are."""
    looked_at, texts = ("reference", reference) if sources is None else ("source", sources)
    counted_in = "reference" if frequencies is None else "training"
    by_frequency = buckets.by_frequency(
        reference, buckets.frequencies(reference) if frequencies is None else frequencies
    )
    return (
        buckets.scored("length", looked_at, buckets.by_length(texts), comparison),
        buckets.scored("frequency", counted_in, by_frequency, comparison),
        buckets.scored("kind", looked_at, buckets.by_kind(texts), comparison),
    )


def score_json(score: CorpusScore) -> dict[str, Any]:
    """What is known of a score; an interval with its half width, as sacreBLEU says it."""
    found: dict[str, Any] = {"name": score.name, "value": score.value, "signature": score.signature}
    if score.interval is not None:
        found["interval"] = {**asdict(score.interval), "margin": score.interval.margin}
    if score.p_value is not None:
        found["p_value"] = score.p_value
    return found


def _grouping_json(grouping: Grouping) -> dict[str, Any]:
    return {
        "by": grouping.name,
        "in": grouping.text,
        "buckets": [
            {
                "label": bucket.label,
                "sentences": len(bucket.rows),
                "rows": list(bucket.rows),
                "scores": {
                    system: {metric: asdict(score) for metric, score in scores.items()}
                    for system, scores in bucket.scores.items()
                },
            }
            for bucket in grouping.buckets
        ],
    }
