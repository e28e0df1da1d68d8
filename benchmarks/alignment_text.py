"""Text that looks like the gold alignments', from the training text of docs/data.md: small letters, punctuation apart.

`python -m benchmarks.alignment_text en-de --output DIR` writes train.en, train.de, valid.en and valid.de. Sentences
of the gold set are left out. Chinese stays unsegmented, for that is how the model is to read it.
"""

import argparse
import gzip
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

ORIGINS = {
    "en-de": ("europarl", "bcontrast"),
    "en-zh": ("newscomm", "un-dev", "tatoeba", "3am", "bible"),
}
LONGEST = {"en-de": 40, "en-zh": 80}  # the gold set of English and Chinese has long sentences
GOLD = {"en-de": "bicici-deen", "en-zh": "awesome-zhen"}
FULL_WIDTH = str.maketrans(
    {"，": ",", "（": "(", "）": ")", "“": '"', "”": '"', "：": ":", "；": ";", "？": "?", "！": "!"}
)
QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "»": '"', "«": '"'})
HAN = "[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"


def words(text: str) -> str:
    """Punctuation apart, as the gold files have it: `don't` becomes `do n't`, numbers and hyphens stay whole."""
    text = text.lower().translate(QUOTES)
    text = re.sub(r"([^\w\s.,'\-])", r" \1 ", text)
    text = re.sub(r"(?<!\d)([.,])|([.,])(?!\d)", r" \1\2 ", text)
    text = re.sub(r"n't\b", " n't", text)
    text = re.sub(r"'(s|re|ve|ll|d|m)\b", r" '\1", text)
    text = re.sub(r"(?<=\s)'(?!(?:s|re|ve|ll|d|m)\b)|'(?=\s|$)|^'", " ' ", text)
    return " ".join(text.split())


def han(text: str) -> str:
    """Chinese as the gold file has it, but for its blanks between words."""
    text = " ".join(text.lower().translate(FULL_WIDTH).split())
    return re.sub(f"(?<={HAN}) | (?={HAN})", "", text)


def letters(text: str) -> str:
    """What two spellings of one sentence have in common."""
    return re.sub(r"\W", "", text.lower())


def pairs(pair: str, data: Path, longest: int) -> Iterator[tuple[str, str]]:
    """The pairs of the chosen origins that are neither long nor in the gold set."""
    source, target = pair.split("-")
    gold = data / "alignments" / GOLD[pair]
    known = {letters(line) for side in (source, target) for line in (gold / side).read_text("utf-8").splitlines()}
    files = [data / "parallel" / f"{pair}.train.{part}.gz" for part in (source, target, "origin")]
    other = han if target == "zh" else words
    with (
        gzip.open(files[0], "rt", encoding="utf-8") as sources,
        gzip.open(files[1], "rt", encoding="utf-8") as targets,
        gzip.open(files[2], "rt", encoding="utf-8") as origins,
    ):
        for left, right, origin in zip(sources, targets, origins, strict=True):
            if not origin.startswith(ORIGINS[pair]):
                continue
            made = words(left), other(right)
            sizes = len(made[0].split()), len(made[1]) / 1.6 if target == "zh" else len(made[1].split())
            if not 0 < max(sizes) <= longest or max(sizes) > 4 * min(sizes) + 4:
                continue
            if not any(letters(side) in known for side in made):
                yield made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pair", choices=ORIGINS)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--longest", type=int, help="in words")
    parser.add_argument("--held-out", type=int, default=1000)
    options = parser.parse_args()
    data = Path(os.environ["SACCADE_DATA"])
    found = list(dict.fromkeys(pairs(options.pair, data, options.longest or LONGEST[options.pair])))
    random.Random(1).shuffle(found)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, part in (("valid", found[: options.held_out]), ("train", found[options.held_out :])):
        for side, language in enumerate(options.pair.split("-")):
            text = "".join(pair[side] + "\n" for pair in part)
            (options.output / f"{name}.{language}").write_text(text, encoding="utf-8", newline="\n")
    print(f"{len(found) - options.held_out} pairs to train on, {options.held_out} held out")


if __name__ == "__main__":
    main()
