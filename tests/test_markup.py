"""Strings are escaped wherever they are put, unless this module has made markup of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.markup import Markup, embed_json, fill, fill_page, join, tag, trusted


def test_a_template_escapes_what_is_put_into_it():
    assert fill('<p class="$kind">$text</p>', kind='"x" y', text="<script>") == (
        '<p class="&quot;x&quot; y">&lt;script&gt;</p>'
    )
    assert fill("<p>$text</p>", text=tag("b", "&")) == "<p><b>&amp;</b></p>"
    assert fill("$text", text="$kind") == "$kind", "a value is no template"


@given(st.text())
def test_no_string_becomes_a_tag_or_leaves_its_attribute(content):
    written = tag("p", content, title=content)
    assert written.count("<") == written.count(">") == 2
    assert written.count('"') == 2
    assert written.encode("utf-8")


def test_numbers_are_short():
    assert tag("rect", x=1 / 3, y=2.0, rx=4) == '<rect x="0.333333" y="2" rx="4"></rect>'


def test_joining_keeps_markup_and_escapes_the_rest():
    assert join(tag("i"), "<", 3) == "<i></i>&lt;3"
    assert isinstance(join(), Markup)


@given(st.text())
def test_json_cannot_end_its_element(content):
    embedded = embed_json({"text": content})
    assert not {"<", ">", "&"} & set(embedded)
    assert json.loads(embedded) == {"text": content}


def test_a_style_that_would_end_its_element_is_refused():
    with pytest.raises(AssertionError, match="end its element"):
        trusted("p {} </STYLE>")
    assert "$" not in fill_page("$style_hash $script_hash $style $script", style="a", script="b")
