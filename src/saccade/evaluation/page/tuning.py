"""What a tuning has gained and lost, as one HTML page: both test sets before and after, and what changed most."""

from collections.abc import Iterator
from dataclasses import dataclass

from saccade.evaluation.page.page import changed_sentences, score_section, signatures, system_keys
from saccade.evaluation.page.templates import both, part, with_labels
from saccade.evaluation.report import Report
from saccade.markup import Markup, fill_page, join, tag, web_file


@dataclass(frozen=True, slots=True)
class TuningFacts:
    """How a model was tuned."""

    memory: str
    """The names of its files."""
    pairs: int
    """Pairs learned from it."""
    replay: int
    """Pairs of other text learned beside it."""
    rank: int | None
    """Of LoRA; None if all parameters were trained."""
    updates: int
    best_update: int
    minutes: float


def tuning_page(in_domain: Report, general: Report | None, facts: TuningFacts, *, version: str) -> str:
    """The whole file; the systems of both reports are the model before and after."""
    return fill_page(
        with_labels(web_file("report/tuning.html")),
        style=web_file("report/page.css"),
        script=web_file("report/page.js"),
        version=version,
        title=", ".join(system.name for system in in_domain.systems),
        legend=join(*(tag("span", key) for key in system_keys(in_domain))),
        facts=join(*(tag("span", fact) for fact in _facts(facts))),
        sections=join(*_sections(in_domain, general)),
        signatures=signatures(in_domain),
    )


def _facts(facts: TuningFacts) -> Iterator[Markup]:
    yield both("tuned on", pairs=f"{facts.pairs:,}", memory=facts.memory)
    if facts.replay:
        yield both("replayed", replay=f"{facts.replay:,}")
    yield both("trained all") if facts.rank is None else both("trained lora", rank=facts.rank)
    counts = {"updates": f"{facts.updates:,}", "best": f"{facts.best_update:,}"}
    yield both("tuned by", minutes=f"{facts.minutes:.1f}", **counts)


def _sections(in_domain: Report, general: Report | None) -> Iterator[Markup]:
    given = {"in-domain": in_domain} | ({} if general is None else {"general": general})
    for name, report in given.items():
        yield score_section(report, name, both(name, count=f"{len(report):,}"), both(f"{name} why"))
    if general is None:
        yield part("no scores", id="general", title=both("no general"), why=both("no general why"))
    for name, report in given.items():
        yield from changed_sentences(report, 1, f"{name}-", both(f"{name} sentences"))
