"""The report as one HTML page: no network, no file beside it, and nothing in a sentence can become markup.

Everything can be read without its script, which only sorts and filters the list of sentences.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from importlib.resources import files

from saccade.evaluation.buckets import SCORED, Bucket, Grouping
from saccade.evaluation.page.cards import cards
from saccade.evaluation.page.charts import Bar, Bars, bar_chart, colour, histogram, scatter, strip
from saccade.evaluation.page.labels import LABELS, both
from saccade.evaluation.page.markup import Markup, join, raw, tag
from saccade.evaluation.report import Report, System
from saccade.evaluation.scores import Score
from saccade.evaluation.words import words

SHOWN = 10
"""How many of the best, the worst and the most different sentences are shown."""
LISTED = 2000
"""How many sentences the whole list has at most."""
DRAWN = 1500
"""How many dots of a system are drawn at most."""
SURE = 0.05
ODDITIES = ("length_ratio", "empty", "copied", "repeating", "short", "long")


def page(report: Report, *, version: str) -> str:
    """The whole file; `version` is that of saccade, which its foot names."""
    style, script = (_file(name) for name in ("page.css", "page.js"))
    title = "saccade evaluate: " + ", ".join(system.name for system in report.systems)
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        raw("style", style),
    )
    sections = (
        _scores(report),
        _oddities(report),
        _buckets(report),
        _spread(report),
        *_chosen_sentences(report),
        _all_sentences(report),
        _how(report),
    )
    body = tag(
        "body",
        *(tag("input", type="radio", name="language", id=name, checked=name == "en") for name in ("en", "zh")),
        _header(report),
        tag("main", *sections),
        tag("footer", both("made by", version=version)),
        raw("script", script),
    )
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en") + "\n"


def _header(report: Report) -> Markup:
    count = len(report.references)
    facts = [both("sentences", count=f"{len(report):,}")]
    facts.append(both("one reference") if count == 1 else both("references", count=count))
    if report.language:
        facts.append(both("language", language=report.language))
    switch = tag("nav", tag("label", "English", for_="en"), tag("label", "中文", for_="zh"), class_="languages")
    title = tag(
        "h1", *(tag("span", tag("b", class_=f"key {colour(n)}"), tag("bdi", s.name)) for n, s in _numbered(report))
    )
    return tag("header", switch, title, tag("p", *(tag("span", fact) for fact in facts), class_="facts"))


def _scores(report: Report) -> Markup:
    first, *others = report.systems
    names = [score.name for score in first.scores]
    scales = [
        _scale([score for system in report.systems for score in system.scores if score.name == name]) for name in names
    ]
    head = tag("tr", tag("th", both("system")), *(tag("th", name) for name in names))
    rows = [
        tag("tr", _system(number, system), *map(_score_cell, system.scores, scales, [number] * len(names)))
        for number, system in _numbered(report)
    ]
    why = (
        both("interval why", samples=f"{report.samples:,}", first=first.name)
        if others
        else both("interval why alone", samples=f"{report.samples:,}")
    )
    verdicts = [tag("p", _verdict(first, other), class_="verdict") for other in others]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="scores")
    return _section("scores", tag("p", both("scores why")), *verdicts, _wide(table), tag("p", why, class_="quiet"))


def _score_cell(score: Score, scale: tuple[float, float], number: int) -> Markup:
    assert score.interval is not None
    hint = f"{score.name} {score.value:.2f} [{score.interval.lower:.2f}, {score.interval.upper:.2f}]"
    p = ""
    if score.p_value is not None:
        p = tag("span", f"p = {_p(score.p_value)}", class_="p sure" if score.p_value < SURE else "p")
    return tag(
        "td",
        tag("span", tag("b", f"{score.value:.2f}"), f" ± {score.interval.margin:.2f}", class_="value"),
        p,
        strip(Bar(number, score.value, score.interval.lower, score.interval.upper, hint), *scale),
        data_metric=score.name,
    )


def _verdict(first: System, other: System) -> Markup:
    was, score = first.scores[0], other.scores[0]
    assert score.p_value is not None
    size, ways = score.value - was.value, LABELS["better" if score.value >= was.value else "worse"]
    key = "verdict sure" if score.p_value < SURE else "verdict unsure"
    return both(key, name=other.name, first=first.name, size=f"{abs(size):.2f}", p=_p(score.p_value), way=ways)


def _oddities(report: Report) -> Markup:
    systems = [system.oddities for system in report.systems]
    rows: list[tuple[str, list[str]]] = []
    for name in ODDITIES:
        if name != "copied" or report.sources is not None:
            rows.append((name, [_number(getattr(each, name)) for each in systems]))
    if any(each.gaze for each in systems):
        rows.append(("entropy", [f"{each.gaze.entropy:.2f}" if each.gaze else "–" for each in systems]))
        rows.append(("uncovered", [f"{each.gaze.uncovered:.1%}" if each.gaze else "–" for each in systems]))
    if any("perplexity" in system.facts for system in report.systems):
        known = [system.facts.get("perplexity") for system in report.systems]
        rows.append(("perplexity", [_number(value) for value in known]))
    head = tag("tr", tag("th"), *(_system(number, system) for number, system in _numbered(report)))
    body = [
        tag("tr", tag("th", both(name), tag("small", both(f"{name} why"))), *(tag("td", value) for value in values))
        for name, values in rows
    ]
    remarks = [
        tag("p", tag("bdi", each.name), ": ", each.remark, class_="quiet") for each in report.systems if each.remark
    ]
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="oddities")
    return _section("oddities", tag("p", both("oddities why")), _wide(table), *remarks)


def _buckets(report: Report) -> Markup:
    names = [system.name for system in report.systems]
    return _section(
        "buckets",
        tag("p", both("buckets why")),
        _legend(report),
        *(_grouping(grouping, names) for grouping in report.groupings if grouping.buckets),
    )


def _grouping(grouping: Grouping, names: Sequence[str]) -> Markup:
    charts = []
    for metric in SCORED:
        groups = [
            Bars(_label(bucket), len(bucket.rows), list(_bars(bucket, names, metric))) for bucket in grouping.buckets
        ]
        chart = bar_chart(groups, f"{metric}, {LABELS[f'by {grouping.name}']['en']}")
        charts.append(tag("figure", tag("figcaption", metric), chart))
    head = [tag("th", both("bucket")), tag("th", both("number of sentences"))]
    head += [tag("th", tag("bdi", name), " ", metric) for metric in SCORED for name in names]
    rows = []
    for bucket in grouping.buckets:
        found = [bucket.scores[name][metric] for metric in SCORED for name in names]
        cells = [tag("td", tag("b", f"{each.value:.2f}"), f" ± {each.interval.margin:.2f}") for each in found]
        rows.append(tag("tr", tag("th", _label(bucket, "span")), tag("td", f"{len(bucket.rows):,}"), *cells))
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows))
    return tag(
        "section",
        tag("h3", both(f"by {grouping.name}")),
        tag("p", both(f"by {grouping.name} {grouping.text}"), class_="quiet"),
        tag("div", *charts, class_="charts"),
        tag("details", tag("summary", both("figures")), _wide(table)),
    )


def _bars(bucket: Bucket, names: Sequence[str], metric: str) -> Iterator[Bar]:
    for number, name in enumerate(names):
        found = bucket.scores[name][metric]
        ends = found.interval.lower, found.interval.upper
        figures = f"{metric} {found.value:.2f} [{ends[0]:.2f}, {ends[1]:.2f}]"
        hint = f"{name} · {bucket.label} · {figures} · n = {len(bucket.rows):,}"
        yield Bar(number, found.value, *ends, hint)


def _spread(report: Report) -> Markup:
    step = -(-len(report) // DRAWN)
    rows = range(0, len(report), step)
    lengths = [len(words(report.references[0][row])) for row in rows]
    points = [
        [(length, system.sentences[row].chrf) for length, row in zip(lengths, rows, strict=True)]
        for system in report.systems
    ]
    sampled = join(" ", both("sampled", step=step)) if step > 1 else ""
    figures = [_figure(join(both("spread why"), sampled), scatter(points, "chrF2, length"))]
    first, *others = report.systems
    if not others:
        values = [sentence.chrf for sentence in first.sentences]
        figures.append(_figure(both("histogram why"), histogram(values, "chrF2")))
    for number, other in enumerate(others, start=1):
        figures.append(_differing(first, other, number))
    return _section("spread", _legend(report), tag("div", *figures, class_="charts"))


def _differing(first: System, other: System, number: int) -> Markup:
    values = _differences(first, other)
    caption = both(
        "differences why",
        name=other.name,
        first=first.name,
        better=sum(value > 0 for value in values),
        worse=sum(value < 0 for value in values),
        alike=values.count(0),
    )
    return _figure(caption, histogram([value for value in values if value], "Δ chrF2", above=number, around_zero=True))


def _chosen_sentences(report: Report) -> Iterator[Markup]:
    first, *others = report.systems
    for number, other in enumerate(others, start=1):
        values = _differences(first, other)
        order = sorted(range(len(values)), key=lambda row: values[row])
        gains, losses = [row for row in order[::-1] if values[row] > 0], [row for row in order if values[row] < 0]
        for key, rows in (("gains", gains), ("losses", losses)):
            title = both(key, name=other.name, first=first.name)
            why = tag("p", both("differences"), class_="quiet")
            yield _section(f"{key}-{number}", why, _marks(), cards(report, rows[:SHOWN]), title=title)
    means = [sum(system.sentences[row].chrf for system in report.systems) for row in range(len(report))]
    order = sorted(range(len(means)), key=lambda row: means[row])
    for key, rows in (("worst", order), ("best", order[::-1])):
        why = tag("p", both("chosen why" if others else "chosen why alone"), class_="quiet")
        yield _section(key, why, _marks(), cards(report, rows[:SHOWN]))


def _marks() -> Markup:
    legend = both("marks", marked=tag("mark", both("marked")), missed=tag("ins", both("missed")))
    return tag("p", legend, class_="quiet")


def _all_sentences(report: Report) -> Markup:
    parts = [_marks()]
    if len(report) > LISTED:
        parts.append(tag("p", both("too many", count=f"{len(report):,}", shown=f"{LISTED:,}"), class_="quiet"))
    sorts = [tag("button", both("line"), type="button", data_sort="row", aria_pressed="true")]
    for number, system in _numbered(report):
        sorts.append(
            tag("button", "chrF2 ", tag("bdi", system.name), type="button", data_sort=number, aria_pressed="false")
        )
    if len(report.systems) > 1:
        sorts.append(tag("button", both("difference"), type="button", data_sort="difference", aria_pressed="false"))
    shows = [
        tag("button", both(key), type="button", data_show=key, aria_pressed="true" if key == "any" else "false")
        for key in ("any", "odd")
    ]
    tools = tag(
        "div",
        tag("span", tag("em", both("sort")), *sorts),
        tag("span", tag("em", both("show")), *shows),
        tag("label", tag("em", both("search")), tag("input", type="search", id="find")),
        class_="tools",
        hidden=True,
    )
    listed = cards(report, range(min(len(report), LISTED)), "all")
    return _section(
        "all", *parts, tag("details", tag("summary", both("sentences", count=f"{len(report):,}")), tools, listed)
    )


def _how(report: Report) -> Markup:
    signatures = [
        join(tag("dt", score.name), tag("dd", tag("code", score.signature))) for score in report.systems[0].scores
    ]
    return _section("how", tag("p", both("how why"), class_="quiet"), tag("dl", *signatures, class_="signatures"))


def _section(key: str, *inside: object, title: Markup | None = None) -> Markup:
    return tag("section", tag("h2", title or both(key)), *inside, id=f"section-{key}")


def _legend(report: Report) -> Markup:
    return tag(
        "p",
        *(tag("span", tag("b", class_=f"key {colour(n)}"), tag("bdi", s.name)) for n, s in _numbered(report)),
        class_="legend",
    )


def _figure(caption: object, picture: Markup) -> Markup:
    return tag("figure", tag("figcaption", caption), picture)


def _wide(table: Markup) -> Markup:
    return tag("div", table, class_="wide", tabindex=0)


def _system(number: int, system: System) -> Markup:
    return tag("th", tag("b", class_=f"key {colour(number)}"), tag("bdi", system.name))


def _label(bucket: Bucket, element: str = "tspan") -> Markup | str:
    return both(bucket.label, element) if bucket.label in LABELS else bucket.label


def _scale(scores: Sequence[Score]) -> tuple[float, float]:
    """From the lowest to the highest end of the intervals, with some room."""
    ends = [
        end for score in scores if score.interval for end in (score.interval.lower, score.interval.upper, score.value)
    ]
    room = 0.15 * (max(ends) - min(ends)) or 1.0
    return min(ends) - room, max(ends) + room


def _differences(first: System, other: System) -> list[float]:
    return [b.chrf - a.chrf for a, b in zip(first.sentences, other.sentences, strict=True)]


def _numbered(report: Report) -> list[tuple[int, System]]:
    return list(enumerate(report.systems))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def _p(value: float) -> str:
    return f"{value:.4f}"  # as sacreBLEU writes it


def _file(name: str) -> str:
    return files("saccade.evaluation.page").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """What the page's policy knows its own style and script by; any other is refused."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
