"""The words of every tensor annotation are those of the legend."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import saccade

ROOT = Path(saccade.__file__).parent
AXES = tomllib.loads((ROOT / "nn" / "axes.toml").read_text(encoding="utf-8"))


def annotations(tree: ast.AST) -> Iterator[str]:
    """The second part of every Float[Tensor, "batch source"]."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=ast.Tuple(elts=[ast.Name(id="Tensor"), ast.Constant(value=str(axes))])):
                yield axes


def unknown(axes: str) -> set[str]:
    """Words outside the legend. `*` (any number of axes), `#` (may be one) and `_` (unchecked) may stand before
    a word; `...` and plain numbers need no meaning.
    """
    words = {word.lstrip("*#_") for word in axes.split()}
    return {word for word in words - AXES.keys() if word != "..." and not word.isdecimal()}


def test_every_axis_is_in_the_legend():
    found = {
        f"{word} in {path.relative_to(ROOT)}"
        for path in ROOT.rglob("*.py")
        for axes in annotations(ast.parse(path.read_text(encoding="utf-8")))
        for word in unknown(axes)
    }
    assert not found, f"not in nn/axes.toml: {', '.join(sorted(found))}"


def test_the_check_sees_what_it_should():
    tree = ast.parse('def f(x: Float[Tensor, "#batch *depth 3"] | None) -> Int[Tensor, " lenght ..."]: ...')
    assert {word for axes in annotations(tree) for word in unknown(axes)} == {"depth", "lenght"}
