"""The page is whole by itself, right in its figures, and nothing in a sentence becomes markup."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from saccade.evaluation.attention import Gaze
from saccade.evaluation.comparison import compare
from saccade.evaluation.page import page as made
from saccade.evaluation.page.cards import difference, marked
from saccade.evaluation.page.page import page
from saccade.evaluation.page.templates import LABELS, both
from saccade.evaluation.page.tuning import TuningFacts, tuning_page
from saccade.evaluation.report import Report, Submission, report
from saccade.evaluation.words import pieces
from saccade.markup import Markup, tag, text

EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></title><svg onload=alert(1)>",
    "{name} {0} &amp; 'a'",
    "שלום עולם",
    "👩‍🚀 é\x00\x1b[31m",
    "",
    "一只黑狗。",
]


TUNED = TuningFacts("memory.tsv", pairs=5000, replay=800, rank=16, updates=300, best_update=270, minutes=4.25)


class Elements(HTMLParser):
    """Every element, its attributes and its text; what is not closed in order is an error."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(content)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for each, attributes in self.found if each == name]


def made_report(
    systems: dict[str, list[str]], references: list[str], sources: list[str] | None = None, **more
) -> Report:
    compared = compare(systems, [references], language="de", samples=20)
    handed_in = {name: Submission(lines, **more) for name, lines in systems.items()}
    return report(compared, handed_in, [references], sources=sources)


@pytest.fixture(scope="module")
def two(test_set) -> Report:
    return made_report(test_set.systems, test_set.references, test_set.references)


def test_no_text_becomes_markup():
    names = {"<script>evil</script>": EVIL, 'a" onload="x': EVIL[::-1]}
    content = page(made_report(names, EVIL[1:] + EVIL[:1], EVIL), version="<b>1</b>")
    elements = Elements(content)
    assert [name for name, _ in elements.found].count("script") == 1
    assert not elements.named("img")
    assert not [key for _, attributes in elements.found for key in attributes if key.startswith("on")]
    assert "\x00" not in content
    assert "\x1b" not in content
    shown = "".join(elements.texts)
    for line in (*EVIL[:5], "<script>evil</script>", 'a" onload="x', "<b>1</b>"):
        assert line in shown, "and yet it is there to be read"


def test_no_text_of_a_tuning_becomes_markup():
    evil = made_report({EVIL[0]: EVIL, "after": EVIL[::-1]}, EVIL[1:] + EVIL[:1], EVIL)
    elements = Elements(content := tuning_page(evil, evil, replace(TUNED, memory=EVIL[1]), version=EVIL[2]))
    assert [name for name, _ in elements.found].count("script") == 1
    assert not elements.named("img")
    assert not [key for _, attributes in elements.found for key in attributes if key.startswith("on")]
    assert "\x00" not in content
    ids = [each["id"] for each in elements.named("section")]
    assert len(ids) == len(set(ids)) == 7


@pytest.mark.parametrize("kind", ["evaluation", "tuning"])
def test_no_network_no_files_and_a_strict_policy(two, kind):
    content = page(two, version="1") if kind == "evaluation" else tuning_page(two, two, TUNED, version="1")
    elements = Elements(content)
    for _, attributes in elements.found:
        assert not {"src", "href", "style", "action"} & attributes.keys()
    assert "http:" not in content
    assert "https:" not in content
    assert "url(" not in content
    (policy,) = (each["content"] for each in elements.named("meta") if "http-equiv" in each)
    for name in ("style", "script"):
        (inside,) = re.findall(f"<{name}>(.*?)</{name}>", content, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_figures_are_those_of_the_report(two):
    shown = "".join(Elements(page(two, version="1")).texts)
    for system in two.systems:
        for score in system.scores:
            assert f"{score.value:.2f} ± {score.interval.margin:.2f}" in shown
    for grouping in two.groupings:
        for bucket in grouping.buckets:
            score = bucket.scores["better"]["BLEU"]
            figures = f"BLEU {score.value:.2f} [{score.interval.lower:.2f}, {score.interval.upper:.2f}]"
            assert f"better · {bucket.label} · {figures} · n = {len(bucket.rows)}" in shown
    assert f"p = {two.systems[1].scores[0].p_value:.4f}" in shown
    assert two.systems[0].scores[0].signature in shown


def test_largest_differences_both_ways(two):
    content = page(two, version="1")
    first, other = two.systems
    values = [b.chrf - a.chrf for a, b in zip(first.sentences, other.sentences, strict=True)]
    for key, best in (("gains", max(values)), ("losses", min(values))):
        section = re.search(f'<section id="section-{key}-1">(.*?)</section>', content, re.DOTALL)
        assert section is not None
        rows = [int(row) for row in re.findall(r'data-row="(\d+)"', section[1])]
        assert values[rows[0]] == best
        assert [values[row] for row in rows] == sorted((values[row] for row in rows), reverse=key == "gains")
        assert 1 <= len(rows) <= made.SHOWN


def test_worst_and_best(two):
    content = page(two, version="1")
    means = [sum(system.sentences[row].chrf for system in two.systems) for row in range(len(two))]
    for key, chosen in (("worst", min(means)), ("best", max(means))):
        section = re.search(f'<section id="section-{key}">(.*?)</section>', content, re.DOTALL)
        assert section is not None
        rows = [int(row) for row in re.findall(r'data-row="(\d+)"', section[1])]
        assert len(rows) == made.SHOWN
        assert means[rows[0]] == chosen


def test_every_label_is_in_both_languages(two):
    elements = Elements(page(two, version="1"))
    for name in ("span", "tspan"):
        classes = [each.get("class") for each in elements.named(name)]
        assert classes.count("en") == classes.count("zh") > 0
    for key, label in LABELS.items():
        assert set(label) == {"en", "zh"}
        assert re.search("[\u4e00-\u9fff]", label["zh"]), key
        assert set(re.findall("{(.*?)}", label["en"])) == set(re.findall("{(.*?)}", label["zh"])), key


def test_every_label_is_used(test_set, monkeypatch: pytest.MonkeyPatch):
    """What the page says of one system, of two, of many sentences and of models."""
    gazes = [Gaze(1.0, 0.25)] * 50
    odd = ["", *test_set.references[1:]]
    three = {**test_set.systems, "odd": odd, "same": test_set.references}
    kinds = ["Is it?", "No!", "See Bob in 2019.", "title", *test_set.references[4:]]
    pages = [
        page(made_report(three, test_set.references, kinds, gazes=gazes, facts={"perplexity": 2.0}), version="1"),
        page(made_report({"a": test_set.references}, test_set.references), version="1"),
    ]
    copied = made_report({"a": odd}, test_set.references, odd)
    compared = compare({"a": odd}, [test_set.references] * 2, language="de", samples=2)
    pages += [page(copied, version="1")]
    twice = report(compared, {"a": Submission(["x y", *odd[1:]])}, [test_set.references] * 2, frequencies={"dog": 3})
    pages += [page(twice, version="1"), page(made_report({"a": ["x y", "b"]}, ["c d", "d"], ["x y", "e"]), version="1")]
    monkeypatch.setattr(made, "LISTED", 5)
    monkeypatch.setattr(made, "DRAWN", 5)
    pages.append(page(copied, version="1"))  # of more sentences than are listed and drawn
    pages += [
        tuning_page(both_ways := made_report(test_set.systems, test_set.references), both_ways, TUNED, version="1")
    ]
    pages += [tuning_page(both_ways, None, replace(TUNED, rank=None), version="1")]
    shown = "".join(pages)
    for key, label in LABELS.items():
        pattern = "".join(
            ".{0,300}?" if part.startswith("{") else re.escape(text(part))
            for part in re.split(r"(\{.*?\})", label["en"])
        )
        assert re.search(f'class="en" lang="en">{pattern}</', shown) or key in ("better", "worse"), key


def test_text_of_any_direction_sets_its_own(two):
    elements = Elements(page(two, version="1"))
    lines = [each for each in elements.named("dd") if each.get("class") in ("source", "reference", "system")]
    assert len(lines) >= 50 * 4
    assert all(each["dir"] == "auto" for each in lines)


def test_a_long_list_is_cut_and_says_so(monkeypatch, two):
    monkeypatch.setattr(made, "LISTED", 12)
    content = page(two, version="1")
    assert "Of 50 sentences, the first 12 are listed here" in content
    listed = re.search(r'<ol class="cards all">(.*?)</ol>', content, re.DOTALL)
    assert listed is not None
    assert listed[1].count("<li ") == 12


@pytest.mark.parametrize("lines", [[""], ["a"], ["", ""]])
def test_next_to_nothing_is_still_a_page(lines):
    """Well-formed, with a list of every sentence; with and without sources."""
    for names, sources in (("a", None), ("ab", lines)):
        content = page(made_report(dict.fromkeys(names, lines), lines, sources), version="1")
        assert Elements(content).named("h2")
        listed = re.search(r'<ol class="cards all">(.*?)</ol>', content, re.DOTALL)
        assert listed is not None
        assert re.findall(r'data-row="(\d+)"', listed[1]) == [str(row) for row in range(len(lines))]


def test_more_systems_than_colours(test_set):
    systems = {f"system {number}": test_set.references for number in range(8)}
    content = page(made_report(systems, test_set.references), version="1")
    assert set(re.findall(r"\bkey (s\d+)", content)) == {f"s{number}" for number in range(6)}


def test_attention_and_why_it_is_missing(test_set):
    found = made_report({"a": test_set.references}, test_set.references, gazes=[Gaze(1.25, 0.5)] * 50)
    assert "entropy 1.25, passed over 50%" in page(found, version="1")
    without = made_report({"a": test_set.references}, test_set.references, remark="It <has> none.")
    content = page(without, version="1")
    assert "It &lt;has&gt; none." in content
    assert "Attention entropy" not in content


# -- parts --


def test_difference_by_hand():
    reference, said = "A black dog runs.", "A dog dog runs !"
    extra, missing = difference(reference, said)
    assert [pieces(said)[at] for at in sorted(extra)] == ["dog", "!"]
    assert [pieces(reference)[at] for at in sorted(missing)] == ["black", "."]
    assert difference("一只黑狗。", "一只白狗。") == ({2}, {2})
    assert difference("", "") == (set(), set())


def test_marks_take_the_space_between_them():
    found = pieces("one two three, four")
    assert marked(found, {0, 2, 7}, "mark") == "<mark>one two</mark> three, <mark>four</mark>"
    assert marked(found, set(), "mark") == "one two three, four"


def test_escaping_is_the_default():
    assert tag("p", "<b>", tag("i", "&"), class_='"', data_row=3, hidden=True, title=None) == (
        '<p class="&quot;" data-row="3" hidden>&lt;b&gt;<i>&amp;</i></p>'
    )
    assert isinstance(tag("p"), Markup)
    assert both("made by", version="{<}") == (
        '<span class="en" lang="en">Made by saccade {&lt;}</span>'
        '<span class="zh" lang="zh-CN">由 saccade {&lt;} 生成</span>'
    )
