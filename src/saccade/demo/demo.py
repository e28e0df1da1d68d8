"""The demo: dates as people write them, in five languages, to ISO dates. Its data, recipe, scores and examples."""

from collections import defaultdict
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.data.corpus import Split
from saccade.demo import dates
from saccade.errors import OutputExists

if TYPE_CHECKING:
    from saccade.translation import Translation
    from saccade.translator import Translator

NUM_TRAIN, NUM_VALID, NUM_TEST = 40_000, 500, 2_000
LANGUAGES = {"en": "English", "zh": "Chinese", "de": "German", "fr": "French", "es": "Spanish"}

RECIPE = (files("saccade") / "demo" / "recipe.toml").read_text(encoding="utf-8")


def write_demo(directory: Path) -> Path:
    """Write the data and the recipe, as files like any user's; the path of the recipe."""
    if directory.exists() and any(directory.iterdir()) and not (directory / "data").is_dir():
        raise OutputExists(f"{directory} exists and is not a demo. Name another one with --directory.")
    (directory / "data").mkdir(parents=True, exist_ok=True)
    splits: dict[Split, int] = {"train": NUM_TRAIN, "valid": NUM_VALID}
    for split, number in splits.items():
        path = directory / "data" / f"{split}.tsv"
        if not path.is_file():
            pairs = dates.examples(number, seed=1, split=split)
            path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    recipe = directory / "demo.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    return recipe


def score(translator: "Translator") -> dict[str, list[bool]]:
    """By language, whether each date that training showed in no wording is translated without a mistake."""
    held_out = dates.written_dates(NUM_TEST, seed=1, split="test")
    translations = translator.translate([written.text for written in held_out])
    right: dict[str, list[bool]] = defaultdict(list)
    for written, translation in zip(held_out, translations, strict=True):
        right[LANGUAGES[written.wording.language]].append(translation.text == written.day.isoformat())
    return dict(sorted(right.items()))


def translate_showcase(translator: "Translator") -> "list[Translation]":
    """A handful of dates that training did not show, with attention."""
    return translator.translate([example.source for example in dates.showcase()], attention=True)
