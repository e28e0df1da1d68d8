"""The report as one HTML page, which needs no other file and no script; nothing in a sentence can become markup."""

from collections.abc import Iterator, Sequence

from saccade.evaluation.buckets import SCORED, Bucket, BucketScore, Grouping
from saccade.evaluation.page.cards import cards
from saccade.evaluation.page.charts import Bar, Bars, bar_chart, colour, histogram, scatter, strip
from saccade.evaluation.page.templates import LABELS, both, part, with_labels
from saccade.evaluation.report import Report, System
from saccade.evaluation.scores import CorpusScore
from saccade.evaluation.significance import SURE
from saccade.evaluation.words import words
from saccade.markup import Markup, fill_page, join, tag, web_file

SHOWN = 10
"""How many of the best, the worst and the most different sentences are shown."""
LISTED = 2000
"""How many sentences the whole list has at most."""
DRAWN = 1500
"""How many dots of a system are drawn at most."""
ODDITIES = ("length_ratio", "empty", "copied", "repeating", "short", "long")


def page(report: Report, *, version: str) -> str:
    """The whole file; `version` is that of saccade, which its foot names."""
    keys = system_keys(report)
    shown = min(len(report), LISTED)
    cut = part("too many", count=f"{len(report):,}", shown=f"{shown:,}") if shown < len(report) else ""
    return fill_page(
        with_labels(web_file("report/page.html")),
        style=web_file("report/page.css"),
        script=web_file("report/page.js"),
        version=version,
        title=", ".join(system.name for system in report.systems),
        count=f"{len(report):,}",
        legend=join(*(tag("span", key) for key in keys)),
        facts=_facts(report),
        scores=score_section(report, "scores", both("scores"), both("scores why")),
        systems=join(*(part("system", key=key) for key in keys)),
        oddities=_oddities(report),
        remarks=join(*(part("remark", name=s.name, remark=s.remark) for s in report.systems if s.remark)),
        groupings=join(*(_grouping(each, report.systems) for each in report.groupings if each.buckets)),
        spread=_spread(report),
        chosen=join(*_chosen_sentences(report)),
        marks=_marks(),
        too_many=cut,
        sorts=_sorts(report),
        listed=cards(report, range(shown), "all"),
        signatures=signatures(report),
    )


def system_keys(report: Report) -> list[Markup]:
    """The name of each system beside its colour."""
    return [part("key", colour=colour(number), name=system.name) for number, system in enumerate(report.systems)]


def signatures(report: Report) -> Markup:
    """How each score was computed."""
    return join(*(part("signature", name=s.name, signature=s.signature) for s in report.systems[0].scores))


def score_section(report: Report, id: str, title: Markup, why: Markup) -> Markup:
    """The scores of all systems, and how sure their differences to the first one are."""
    first, *others = report.systems
    alone = "" if others else " alone"
    return part(
        "scores",
        id=id,
        title=title,
        why=why,
        verdicts=join(*(_verdict(first, other) for other in others)),
        metrics=join(*(tag("th", score.name) for score in first.scores)),
        rows=_scores(report, system_keys(report)),
        interval_why=both(f"interval why{alone}", samples=f"{report.samples:,}", first=first.name),
    )


def _facts(report: Report) -> Markup:
    count = len(report.references)
    references = both("one reference") if count == 1 else both("references", count=count)
    language = tag("span", both("language", language=report.language)) if report.language else ""
    return join(tag("span", references), language)


def _verdict(first: System, other: System) -> Markup:
    was, score = first.scores[0], other.scores[0]
    assert score.p_value is not None
    return part(
        "verdict sure" if score.p_value < SURE else "verdict unsure",
        name=other.name,
        first=first.name,
        size=f"{abs(score.value - was.value):.2f}",
        way=both("better" if score.value >= was.value else "worse"),
        p=f"{score.p_value:.4f}",  # as sacreBLEU writes it
    )


def _scores(report: Report, keys: Sequence[Markup]) -> Markup:
    scales = [_scale(scores) for scores in zip(*(system.scores for system in report.systems), strict=True)]
    rows = []
    for number, (key, system) in enumerate(zip(keys, report.systems, strict=True)):
        cells = (_score_cell(score, scale, number) for score, scale in zip(system.scores, scales, strict=True))
        rows.append(part("score row", key=key, cells=join(*cells)))
    return join(*rows)


def _score_cell(score: CorpusScore, scale: tuple[float, float], number: int) -> Markup:
    assert score.interval is not None
    lower, upper, p = score.interval.lower, score.interval.upper, ""
    if score.p_value is not None:
        p = part("p value", p=f"{score.p_value:.4f}", sure="sure" if score.p_value < SURE else "")
    hint = f"{score.name} {score.value:.2f} [{lower:.2f}, {upper:.2f}]"
    picture = strip(Bar(number, score.value, lower, upper, hint), *scale)
    return part("score", metric=score.name, **_figures(score), p=p, strip=picture)


def _oddities(report: Report) -> Markup:
    counted = [system.oddities for system in report.systems]
    gazes = [oddities.gaze for oddities in counted]
    rows = {name: [_number(getattr(oddities, name)) for oddities in counted] for name in ODDITIES}
    if report.sources is None:
        del rows["copied"]
    if any(gazes):
        rows["entropy"] = [f"{gaze.entropy:.2f}" if gaze else "–" for gaze in gazes]
        rows["uncovered"] = [f"{gaze.uncovered:.1%}" if gaze else "–" for gaze in gazes]
    if any("perplexity" in system.facts for system in report.systems):
        rows["perplexity"] = [_number(system.facts.get("perplexity")) for system in report.systems]
    written = {name: join(*(tag("td", cell) for cell in cells)) for name, cells in rows.items()}
    parts = (part("oddity", name=both(name), why=both(f"{name} why"), cells=cells) for name, cells in written.items())
    return join(*parts)


def _grouping(grouping: Grouping, systems: Sequence[System]) -> Markup:
    names, name = [system.name for system in systems], grouping.name
    charts = []
    for metric in SCORED:
        groups = [
            Bars(_label(bucket, "tspan"), len(bucket.rows), list(_bars(bucket, names, metric)))
            for bucket in grouping.buckets
        ]
        chart = bar_chart(groups, f"{metric}, {LABELS[f'by {name}']['en']}")
        charts.append(part("figure", caption=metric, picture=chart))
    rows = []
    for bucket in grouping.buckets:
        scores = (bucket.scores[system][metric] for metric in SCORED for system in names)
        cells = join(*(part("bucket score", **_figures(score)) for score in scores))
        rows.append(part("bucket row", label=_label(bucket), count=f"{len(bucket.rows):,}", cells=cells))
    return part(
        "grouping",
        title=both(f"by {name}"),
        why=both(f"by {name} {grouping.text}"),
        charts=join(*charts),
        columns=join(*(part("bucket column", name=system, metric=metric) for metric in SCORED for system in names)),
        rows=join(*rows),
    )


def _bars(bucket: Bucket, names: Sequence[str], metric: str) -> Iterator[Bar]:
    for number, name in enumerate(names):
        score = bucket.scores[name][metric]
        lower, upper = score.interval.lower, score.interval.upper
        figures = f"{metric} {score.value:.2f} [{lower:.2f}, {upper:.2f}]"
        yield Bar(number, score.value, lower, upper, f"{name} · {bucket.label} · {figures} · n = {len(bucket.rows):,}")


def _spread(report: Report) -> Markup:
    step = -(-len(report) // DRAWN)
    rows = range(0, len(report), step)
    lengths = [len(words(report.references[0][row])) for row in rows]
    points = [
        [(length, system.sentences[row].chrf) for length, row in zip(lengths, rows, strict=True)]
        for system in report.systems
    ]
    caption = join(both("spread why"), " ", both("sampled", step=step)) if step > 1 else both("spread why")
    figures = [part("figure", caption=caption, picture=scatter(points, "chrF2, length"))]
    first, *others = report.systems
    if not others:
        picture = histogram([sentence.chrf for sentence in first.sentences], "chrF2")
        figures.append(part("figure", caption=both("histogram why"), picture=picture))
    for number, other in enumerate(others, start=1):
        values = _differences(first, other)
        better, worse = sum(value > 0 for value in values), sum(value < 0 for value in values)
        counts = {"better": better, "worse": worse, "alike": values.count(0)}
        caption = both("differences why", name=other.name, first=first.name, **counts)
        picture = histogram([value for value in values if value], "Δ chrF2", above=number, around_zero=True)
        figures.append(part("figure", caption=caption, picture=picture))
    return join(*figures)


def _chosen_sentences(report: Report) -> Iterator[Markup]:
    for number in range(1, len(report.systems)):
        yield from changed_sentences(report, number)
    why = both("chosen why" if len(report.systems) > 1 else "chosen why alone")
    means = [sum(system.sentences[row].chrf for system in report.systems) for row in range(len(report))]
    order = sorted(range(len(means)), key=means.__getitem__)
    for key, rows in (("worst", order), ("best", order[::-1])):
        yield _sentence_section(report, key, both(key), why, rows)


def changed_sentences(report: Report, number: int, prefix: str = "", about: Markup | str = "") -> Iterator[Markup]:
    """Where a system differs most from the first one, for the better and for the worse."""
    first, other = report.systems[0], report.systems[number]
    values = _differences(first, other)
    order = sorted(range(len(values)), key=values.__getitem__)
    gains, losses = [row for row in order[::-1] if values[row] > 0], [row for row in order if values[row] < 0]
    for key, rows in (("gains", gains), ("losses", losses)):
        title = join(about, both(key, name=other.name, first=first.name))
        yield _sentence_section(report, f"{prefix}{key}-{number}", title, both("differences"), rows)


def _sentence_section(report: Report, id: str, title: Markup, why: Markup, rows: Sequence[int]) -> Markup:
    return part("chosen", id=id, title=title, why=why, marks=_marks(), cards=cards(report, rows[:SHOWN]))


def _marks() -> Markup:
    return part("marks", marked=tag("mark", both("marked")), missed=tag("ins", both("missed")))


def _sorts(report: Report) -> Markup:
    names = enumerate(join("chrF2 ", tag("bdi", system.name)) for system in report.systems)
    sorts = [part("sort", by=number, name=name) for number, name in names]
    return join(*sorts, part("sort", by="difference", name=both("difference")) if len(sorts) > 1 else "")


def _label(bucket: Bucket, element: str = "span") -> Markup | str:
    return both(bucket.label, element) if bucket.label in LABELS else bucket.label


def _scale(scores: Sequence[CorpusScore]) -> tuple[float, float]:
    """From the lowest to the highest end of the intervals, with some room."""
    intervals = [(score.interval, score.value) for score in scores if score.interval]
    ends = [end for interval, value in intervals for end in (interval.lower, interval.upper, value)]
    room = 0.15 * (max(ends) - min(ends)) or 1.0
    return min(ends) - room, max(ends) + room


def _differences(first: System, other: System) -> list[float]:
    return [b.chrf - a.chrf for a, b in zip(first.sentences, other.sentences, strict=True)]


def _figures(score: CorpusScore | BucketScore) -> dict[str, str]:
    assert score.interval is not None
    return {"value": f"{score.value:.2f}", "margin": f"{score.interval.margin:.2f}"}


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
