"""A race of decoders: who takes part, their turns, and the table that comes of it."""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from saccade.benchmark.race import Contestant, Racer, forgiven, peers
from saccade.benchmark.report import markdown
from saccade.benchmark.sentences import Sentences
from saccade.directory import ModelDirectory
from saccade.evaluation.scores import bleu

BEAMS = (5, 1)
SINGLES = 100
"""Sentences that are also translated one by one."""
FOR_PEERS = 1000
"""Sentences that other toolkits translate, the first ones: with more, the slowest of them would hold up all others."""
COLUMNS = (
    "",
    "sentences/s",
    "× by hand",
    "tokens/s",
    "CPU ms a sentence",
    "single: p50 ms",
    "p95 ms",
    "× by hand",
    "BLEU",
    "peak MiB",
)


@dataclass(frozen=True, slots=True)
class Decoder:
    """Who takes part, and whom it is held against: CTranslate2 by hand, with the same numbers if it has them."""

    contestant: Contestant
    beside: str
    sentences: int
    """How many it translates in a turn, the first ones."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a contestant did in one turn."""

    seconds: float
    """For all sentences at once."""
    cpu: float
    """Seconds of all its threads."""
    latencies: list[float]
    """Seconds of single sentences, one by one."""
    peak: float
    """The most memory so far, in MiB."""

    @property
    def middle(self) -> float:
        """The median latency."""
        return median(self.latencies)


@dataclass(frozen=True, slots=True)
class Result:
    """All turns of one contestant with one beam; the n-th belongs to round n."""

    name: str
    beside: str
    beam: int
    turns: list[Turn]
    texts: list[str]

    @property
    def rates(self) -> list[float]:
        """Sentences a second, turn by turn."""
        return [len(self.texts) / turn.seconds for turn in self.turns]


def field(work: Sentences, others: Path | None = None) -> list[Decoder]:
    """Everyone whose programs are installed; other toolkits from their directory, if given."""

    def decoder(name: str, *words: str, beside: str, may_fail: bool = False) -> Decoder:
        command = (sys.executable, "-m", "saccade.benchmark.decoders", str(work.directory), *words)
        return Decoder(Contestant(name, command, may_fail=may_fail), beside, len(work.sources))

    found = []
    for compute in ("float32", "int8"):
        by_hand = f"CTranslate2 by hand, {compute}"
        found += [
            decoder(by_hand, "ctranslate2", compute, beside=by_hand),
            decoder(f"saccade, {compute}", "ours", "auto", compute, beside=by_hand),
        ]
    first = found[0].contestant.name
    if find_spec("torch"):
        found.append(decoder("saccade, torch", "ours", "torch", "float32", beside=first))
        if find_spec("transformers"):
            found.append(decoder("Hugging Face generate", "hugging_face", beside=first, may_fail=True))
    if others is not None:
        few = min(FOR_PEERS, len(work.sources))
        found += [Decoder(contestant, first, few) for contestant in peers(work, others, "decode")]
    return found


def race(
    decoders: Sequence[Decoder], work: Sentences, *, windows: int, told: Callable[[str], None] = lambda line: None
) -> list[Result]:
    """All turns of all contestants, beam by beam. Every other round runs backwards."""
    turns: dict[tuple[Decoder, int], list[Turn]] = {}
    with ExitStack() as stack:
        racing: dict[Decoder, Racer] = {}
        for each in decoders:
            told(f"{each.contestant.name} warms up")
            with forgiven(each.contestant, told):
                racer = stack.enter_context(Racer(each.contestant, work))
                racer.warm_up()
                racing[each] = racer
        names = {each: racer.name for each, racer in racing.items()}
        for number in range(windows):
            for beam in BEAMS:
                for each, racer in list(racing.items())[:: 1 if number % 2 == 0 else -1]:
                    with forgiven(each.contestant, told):
                        turn = Turn(**racer.ask(json.dumps(_asked(each, work, beam))))
                        turns.setdefault((each, beam), []).append(turn)
                        rate = each.sentences / turn.seconds
                        told(f"window {number + 1} of {windows}: {racer.name}, beam {beam}: {rate:,.0f} sentences/s")
            racing = {each: racer for each, racer in racing.items() if len(turns.get((each, BEAMS[-1]), ())) > number}
    return [
        Result(names[each], each.beside, beam, turns[each, beam], _texts(work, each, beam))
        for beam in BEAMS
        for each in decoders
        if len(turns.get((each, beam), ())) == windows
    ]


def table(results: Sequence[Result], work: Sentences, beam: int) -> str:
    """Each contestant beside CTranslate2 by hand."""
    shown = {result.name: result for result in results if result.beam == beam}
    tokenizer = ModelDirectory.open(Path(work.model)).tokenizers.target
    scores = {name: _bleu(result, work) for name, result in shown.items()}
    rows = []
    for result in shown.values():
        seconds = median(turn.seconds for turn in result.turns)
        tokens = sum(len(ids) + 1 for ids in tokenizer.encode_many(result.texts))
        latencies = list(chain.from_iterable(turn.latencies for turn in result.turns))
        beside = shown[result.beside]
        rows.append(
            (
                _called(result, work),
                f"{median(result.rates):,.0f}",
                _spread([own / other for own, other in zip(result.rates, beside.rates, strict=True)]),
                f"{tokens / seconds:,.0f}",
                f"{1000 * median(turn.cpu for turn in result.turns) / len(result.texts):.2f}",
                f"{1000 * median(latencies):.1f}",
                f"{1000 * quantiles(latencies, n=20)[-1]:.1f}",
                _spread([own.middle / other.middle for own, other in zip(result.turns, beside.turns, strict=True)]),
                "not known" if (score := scores[result.name]) is None else f"{score:.2f}",
                f"{result.turns[-1].peak:,.0f}",
            )
        )
    kind = "greedy" if beam == 1 else f"beam {beam}"
    heading = (
        f"### {kind}\n\n{work.corpus}; {work.threads} cores; medians of {len(results[0].turns)} windows, "
        "least to greatest in brackets."
    )
    return "\n".join([heading, "", markdown(COLUMNS, rows)])


def as_table(results: Sequence[Result], work: Sentences) -> dict[str, Any]:
    """Everything that was measured, window by window."""
    return {
        "model": work.model,
        "corpus": work.corpus,
        "contestants": [
            {
                "name": result.name,
                "beam": result.beam,
                "sentences": len(result.texts),
                "seconds": [round(turn.seconds, 4) for turn in result.turns],
                "cpu_seconds": [round(turn.cpu, 4) for turn in result.turns],
                "single_ms": [[round(1000 * each, 3) for each in turn.latencies] for turn in result.turns],
                "bleu": _bleu(result, work),
                "peak_mib": round(result.turns[-1].peak),
            }
            for result in results
        ],
    }


def _called(result: Result, work: Sentences) -> str:
    """Its name, with a remark if it did not translate all sentences."""
    count = len(result.texts)
    return result.name if count == len(work.sources) else f"{result.name}, first {count:,} sentences"


def _spread(ratios: Sequence[float]) -> str:
    return f"{median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def _bleu(result: Result, work: Sentences) -> float | None:
    """Of what it translated."""
    return None if work.references is None else bleu(result.texts, work.references[: len(result.texts)], work.language)


def _asked(decoder: Decoder, work: Sentences, beam: int) -> dict[str, Any]:
    """A turn, as `translating.turn` takes it."""
    output = str(_output(work, decoder, beam))
    return {"beam": beam, "sentences": decoder.sentences, "singles": SINGLES, "output": output}


def _output(work: Sentences, decoder: Decoder, beam: int) -> Path:
    return work.directory / f"{decoder.contestant.name}, {beam}.json"


def _texts(work: Sentences, decoder: Decoder, beam: int) -> list[str]:
    read: list[str] = json.loads(_output(work, decoder, beam).read_text(encoding="utf-8"))
    return read
