"""Word alignment by a model's attention beside the diagonal and a statistical aligner (eflomal), on gold alignments.

    python -m benchmarks.alignment en-de --model runs/align-en-de --text $SACCADE_DATA/aligning/en-de \\
        --eflomal eflomal-align --work /tmp/aligning

trains no model. eflomal (Östling & Tiedemann 2016; `pip install eflomal`) gets the text that the model was trained on,
the held-out sentences and those of the gold set, without its links. What it finds stays in --work and is used again.
Heads are chosen twice, never by what is measured: without any gold, by eflomal's links of held-out sentences; and by
the first 30 % of the gold set. All figures are of the other 70 %.
"""

import argparse
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.alignment_text import GOLD, HAN
from saccade.aligner import align
from saccade.evaluation.alignment import Aligned, choose, diagonal, difference, score
from saccade.trace import pharaoh
from saccade.trace.alignment import Link, Reading, flipped, shares, symmetrise
from saccade.trace.pharaoh import Gold
from saccade.trace.trace import Matrix
from saccade.translator import load

UNIT = re.compile(rf"{HAN}|[^\s{HAN[1:]}+")
HELD_OUT, DEV = 500, 0.3
Words = list[list[str]]
Links = list[list[Link]]


@dataclass(frozen=True)
class Sentences:
    """Pairs in words."""

    sources: Words
    targets: Words

    @classmethod
    def read(cls, stem: Path, languages: Sequence[str]) -> "Sentences":
        """Words are what blanks separate; a text without blanks comes in its characters."""
        sides = [[units(line) for line in lines(stem.with_suffix(f".{name}"))] for name in languages]
        return cls(*sides)

    def __getitem__(self, rows: slice) -> "Sentences":
        return Sentences(self.sources[rows], self.targets[rows])


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").removesuffix("\n").split("\n")


def units(text: str) -> list[str]:
    """Chinese characters one by one, everything else in words: nobody has segmented the text."""
    return UNIT.findall(text)


def gold_set(pair: str, data: Path) -> tuple[Sentences, list[Gold]]:
    """English first, whatever the file has."""
    source, target = pair.split("-")
    directory = data / "alignments" / GOLD[pair]
    known = [line.flipped() for line in pharaoh.read(lines(directory / "gold"), origin=str(directory / "gold"))]
    sentences = Sentences(*([line.split() for line in lines(directory / name)] for name in (source, target)))
    sizes = [(len(one), len(other)) for one, other in zip(sentences.sources, sentences.targets, strict=True)]
    return sentences, pharaoh.within(known, sizes, origin=str(directory / "gold"))[0]


def eflomal(command: str, text: Path, pair: str, gold: Sentences, work: Path) -> tuple[Links, Links]:
    """Links of both directions, as (source, target): of held-out sentences and of the gold's, in units."""
    languages = pair.split("-")
    work.mkdir(parents=True, exist_ok=True)
    outputs = [work / f"{pair}.{direction}" for direction in ("forward", "reverse")]
    if not all(output.exists() for output in outputs):
        for side, language in enumerate(languages):
            known = (gold.sources, gold.targets)[side]
            parts = [lines(text / f"{name}.{language}") for name in ("valid", "train")]
            joined = [*parts[0][:HELD_OUT], *(" ".join(words) for words in known), *parts[1]]
            written = "".join(" ".join(units(line)) + "\n" for line in joined)
            (work / f"{pair}.{language}").write_text(written, "utf-8")
        sides = [str(work / f"{pair}.{language}") for language in languages]
        drafts = [f"{output}.draft" for output in outputs]
        arguments = ["-s", sides[0], "-t", sides[1], "-f", drafts[0], "-r", drafts[1], "--overwrite"]
        subprocess.run([command, *arguments], check=True)
        for draft, output in zip(drafts, outputs, strict=True):
            Path(draft).rename(output)
    wanted = HELD_OUT + len(gold.sources)
    found = [[sorted(line.sure) for line in pharaoh.read(lines(output)[:wanted])] for output in outputs]
    return found[0], found[1]


def in_words(links: Links, sentences: Sentences) -> Links:
    """Links between units as links between the gold's words."""
    triples = zip(links, sentences.sources, sentences.targets, strict=True)
    return [links_between_words(pairs, *(shares(*spans(side)) for side in sides)) for pairs, *sides in triples]


def links_between_words(pairs: list[Link], source: Matrix, target: Matrix) -> list[Link]:
    """Two words are linked if any of their units are; a row of the matrices says which words a unit belongs to."""
    return sorted(
        {
            (int(left), int(right))
            for one, other in pairs
            for left in np.flatnonzero(source[one])
            for right in np.flatnonzero(target[other])
        }
    )


def spans(words: list[str]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Of units and of words, in the words put together."""
    return _spans([unit for word in words for unit in units(word)]), _spans(words)


def _spans(parts: list[str]) -> list[tuple[int, int]]:
    ends = [sum(map(len, parts[: number + 1])) for number in range(len(parts))]
    return [(end - len(part), end) for part, end in zip(parts, ends, strict=True)]


def read_links(pairs: Sequence[Aligned], reading: Reading) -> Links:
    return [pair.links(reading) for pair in pairs]


@dataclass(frozen=True)
class Attention:
    """The weights of one model on the gold set and on held-out sentences, and what it is judged by."""

    measured: list[Aligned]
    held_out: list[Aligned]
    statistical: list[Gold]
    """eflomal's links of the held-out sentences."""
    gold: list[Gold]

    def readings(self) -> dict[str, Reading]:
        dev = int(DEV * len(self.gold))
        return {
            "heads by eflomal": choose(self.held_out, self.statistical)[0].reading,
            "heads by gold, other sentences": choose(self.measured[:dev], self.gold[:dev])[0].reading,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pair", choices=GOLD)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--reverse", type=Path, help="a model of the opposite direction")
    parser.add_argument("--text", type=Path, required=True, help="the output directory of benchmarks.alignment_text")
    parser.add_argument("--eflomal", default="eflomal-align", help="the command")
    parser.add_argument("--work", type=Path, required=True, help="where eflomal's files are kept")
    options = parser.parse_args()

    sentences, gold = gold_set(options.pair, Path(os.environ["SACCADE_DATA"]))
    held_out = Sentences.read(options.text / "valid", options.pair.split("-"))[:HELD_OUT]
    there, back = eflomal(options.eflomal, options.text, options.pair, sentences, options.work)
    both = [symmetrise(one, other, "grow-diag") for one, other in zip(there, back, strict=True)]
    statistical = [Gold.of(line) for line in both[:HELD_OUT]]
    found = {
        "diagonal": [diagonal(len(a), len(b)) for a, b in zip(sentences.sources, sentences.targets, strict=True)],
        "eflomal, forward": in_words(there[HELD_OUT:], sentences),
        "eflomal, reverse": in_words(back[HELD_OUT:], sentences),
        "eflomal, grow-diag": in_words(both[HELD_OUT:], sentences),
    }
    found |= attention(options.model, options.reverse, sentences, held_out, statistical, gold)
    report(found, gold)


def attention(
    model: Path,
    reverse: Path | None,
    sentences: Sentences,
    held_out: Sentences,
    statistical: list[Gold],
    gold: list[Gold],
) -> dict[str, Links]:
    """The links of the model, and with another of the opposite direction those of both, by how heads were chosen."""
    forward = load(model)
    one = Attention(
        align(forward, sentences.sources, sentences.targets),
        align(forward, held_out.sources, held_out.targets),
        statistical,
        gold,
    )
    found = {f"attention, {name}: {how}": read_links(one.measured, how) for name, how in one.readings().items()}
    if reverse is None:
        return found
    backward = load(reverse)
    other = Attention(
        align(backward, sentences.targets, sentences.sources),
        align(backward, held_out.targets, held_out.sources),
        [line.flipped() for line in statistical],
        [line.flipped() for line in gold],
    )
    for (name, first), second in zip(one.readings().items(), other.readings().values(), strict=True):
        pair = read_links(one.measured, first), [flipped(line) for line in read_links(other.measured, second)]
        found[f"reverse attention, {name}: {second}"] = pair[1]
        for method in ("grow-diag", "intersection"):
            made = [symmetrise(there, back, method) for there, back in zip(*pair, strict=True)]
            found[f"both, {name}, {method}"] = made
    return found


def report(found: dict[str, Links], gold: list[Gold]) -> None:
    """A table in Markdown, of the sentences that no heads were chosen on."""
    start = int(DEV * len(gold))
    plain = found["diagonal"][start:]
    print(f"{len(gold) - start} sentence pairs, {sum(len(line.sure) for line in gold[start:])} sure links\n")
    print("|  | precision | recall | AER | 95 % | below the diagonal by | 95 % |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, links in found.items():
        result, gain = score(links[start:], gold[start:]), difference(plain, links[start:], gold[start:])
        print(
            f"| {name} | {result.precision:.3f} | {result.recall:.3f} | {result.error_rate:.3f} "
            f"| {result.low:.3f}–{result.high:.3f} | {gain.value:.3f} | {gain.low:.3f}–{gain.high:.3f} |"
        )


if __name__ == "__main__":
    main()
