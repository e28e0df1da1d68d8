"""Pictures as PNG, drawn by resvg with the fonts of this machine."""

import re
import warnings
from html import unescape
from types import ModuleType

from saccade.errors import MissingDependency, SaccadeError
from saccade.trace.labels import BIDI_CONTROLS, characters
from saccade.trace.metrics import families, script

UNASSIGNED = "\u0378"
"""A code point without a character, so that no font has it."""
INSTALL_FONTS = "apt-get install fonts-noto-core fonts-noto-cjk"


def png(svg_text: str, scale: float = 2.0) -> bytes:
    """Draw an SVG picture `scale` times as large. Warns of scripts without a font; refuses if no label can be drawn."""
    if not 0.1 <= scale <= 20:
        raise SaccadeError(f"A picture can be drawn 0.1 to 20 times as large, but {scale:g} times was asked for.")
    resvg = _resvg()
    drawn = _draw(resvg, svg_text, scale)
    samples = _script_samples(svg_text)
    missing = [sample for script, sample in samples.items() if not _is_drawn(resvg, script, samples)]
    if samples and len(missing) == len(samples):
        raise SaccadeError(
            "A PNG picture needs fonts for its labels, but this machine has none for them. "
            f"Install some (on Debian: {INSTALL_FONTS}), or write SVG, which is drawn where it is shown."
        )
    if missing:
        warnings.warn(
            f"No font on this machine has {''.join(missing)} or the rest of that script, so the picture lacks these "
            f"characters. Install a font that has them; Noto has nearly all (on Debian: {INSTALL_FONTS}).",
            stacklevel=2,
        )
    return drawn


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


def _script_samples(svg_text: str) -> dict[str, str]:
    """One character of each script that the picture writes; a digit if it writes no letters."""
    written = unescape(re.sub(r"<style>.*?</style>|<title>.*?</title>|<[^>]*>", " ", svg_text, flags=re.DOTALL))
    written = "".join(character for character in written if character not in BIDI_CONTROLS)
    samples: dict[str, str] = {}
    for character in characters(written):
        if (its_script := script(character)) is not None and character.isprintable():
            samples.setdefault(its_script, character)
    return samples or ({"": "0"} if written.strip() else {})


def _is_drawn(resvg: ModuleType, script: str, samples: dict[str, str]) -> bool:
    """Whether the sample of a script is drawn as itself: neither as a box nor as nothing."""
    style = f"text {{ font-family: {families(script, samples)} }}"
    drawn, box = (
        _draw(
            resvg,
            f'<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40"><style>{style}</style>'
            f'<text x="9" y="28" font-size="20">{character}</text></svg>',
            1,
        )
        for character in (samples[script], UNASSIGNED)
    )
    return drawn != box
