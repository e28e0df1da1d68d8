"""Pictures as PNG, drawn by resvg with the fonts of this machine."""

import re
import warnings
from collections.abc import Iterator
from html import unescape
from types import ModuleType

from saccade.errors import MissingDependency, SaccadeError
from saccade.trace.labels import BIDI_CONTROLS, characters
from saccade.trace.metrics import families, script

NOBODYS = "\u0378"
"""A number that stands for no character, so that no font has it."""


def png(svg_text: str, scale: float = 2.0) -> bytes:
    """Draw an SVG picture in pixels: `scale` of them for each of its own; warns of characters that no font has."""
    if not 0.1 <= scale <= 20:
        raise SaccadeError(f"A picture can be drawn 0.1 to 20 times as large, but {scale:g} times was asked for.")
    resvg = _resvg()
    if lost := "".join(_without_font(resvg, svg_text)):
        warnings.warn(
            f"No font of this machine has {lost} and what else is written so; the picture has boxes or nothing there. "
            "Install a font that has it: Noto Sans (on Debian, fonts-noto-core and fonts-noto-cjk) has nearly all.",
            stacklevel=2,
        )
    return _draw(resvg, svg_text, scale)


def _resvg() -> ModuleType:
    try:
        import resvg_py
    except ImportError:
        raise MissingDependency(
            "A PNG picture needs resvg-py, which is not installed. Install it with: pip install resvg-py "
            "(or keep the SVG picture, which every browser shows)"
        ) from None
    return resvg_py


def _draw(resvg: ModuleType, svg_text: str, scale: float) -> bytes:
    try:
        return bytes(resvg.svg_to_bytes(svg_string=svg_text, zoom=scale))
    except ValueError as error:
        raise SaccadeError(f"A picture to draw must be SVG, but this cannot be read as such: {error}") from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what Rust's panics come as; it is no Exception
            raise
        raise SaccadeError(
            f"resvg failed at this picture: {error}. Show the SVG in a browser, and tell us of the tokens in it."
        ) from None


def _without_font(resvg: ModuleType, svg_text: str) -> Iterator[str]:
    """One character of each script that would be drawn as a box, or not at all."""
    written = unescape(re.sub(r"<style>.*?</style>|<title>.*?</title>|<[^>]*>", " ", svg_text, flags=re.DOTALL))
    written = "".join(character for character in written if character not in BIDI_CONTROLS)
    samples: dict[str, str] = {}
    for character in characters(written):
        if (found := script(character)) is not None and character.isprintable():
            samples.setdefault(found, character)
    for found, character in samples.items():
        drawn, box = (_draw(resvg, _sample(found, each, samples), 1) for each in (character, NOBODYS))
        if drawn == box:
            yield character


def _sample(script: str, character: str, scripts: dict[str, str]) -> str:
    style = f"text {{ font-family: {families(script, scripts)} }}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><style>{style}</style>'
        f'<text x="9" y="28" font-size="20">{character}</text></svg>'
    )
