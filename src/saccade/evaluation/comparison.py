"""Systems beside each other: their scores with intervals, and how sure the differences to the first of them are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saccade.evaluation import significance
from saccade.evaluation.scores import CorpusScore, check, metrics, warn_of_tokenized
from saccade.evaluation.significance import SAMPLES, Counts, Test, chosen_seed, counted, interval, resampled, score


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The scores of every system, and what was counted for them."""

    language: str
    seed: int
    samples: int
    """How many resampled test sets an interval is made of."""
    scores: Mapping[str, tuple[CorpusScore, ...]]
    """By system: BLEU, chrF2 and TER."""
    counts: Mapping[str, Mapping[str, Counts]]
    """By system and metric."""

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(self.scores)


def compare(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    language: str,
    test: Test = "bootstrap",
    samples: int | None = None,
) -> Comparison:
    """Score each system against one reference or more, as `sacrebleu --paired-bs` or `--paired-ar` would."""
    for translations in systems.values():
        for lines in references:
            check(translations, lines)
        warn_of_tokenized(translations, references[0])
    drawn, word = chosen_seed()
    samples = samples or SAMPLES[test]
    resamples = samples if test == "bootstrap" else SAMPLES["bootstrap"]
    found: dict[str, list[CorpusScore]] = {name: [] for name in systems}
    counts: dict[str, dict[str, Counts]] = {name: {} for name in systems}
    for metric_name, metric in metrics(language).items():
        for name, translations in systems.items():
            counts[name][metric_name] = counted(metric, translations, references)
        signature = metric.get_signature()
        signature.update("bs", resamples)
        if test == "randomization":
            signature.update("ar", samples)
        signature.update("seed", word)
        values = {name: score(metric, counts[name][metric_name]) for name in systems}
        draws = {name: resampled(metric, counts[name][metric_name], samples=resamples, seed=drawn) for name in systems}
        first = next(iter(systems))
        for name in systems:
            p_value = None
            if name != first and test == "bootstrap":
                p_value = significance.bootstrap_p(draws[first], draws[name], values[name] - values[first])
            elif name != first:
                both = (counts[each][metric_name] for each in (first, name))
                p_value = significance.randomization_p(metric, *both, samples=samples, seed=drawn)
            found[name].append(
                CorpusScore(metric_name, values[name], signature.format(), interval(draws[name]), p_value)
            )
    scores = {name: tuple(each) for name, each in found.items()}
    return Comparison(language, drawn, resamples, scores, counts)
