"""The decoding race: who takes part, and the turns of each."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from benchmarks.contestants import (
    Contestant,
    ContestantProcess,
    Report,
    peer_commands,
    python_command,
    skip_failed,
)
from benchmarks.decoding.work import DecodingWork

BEAMS = (5, 1)
SINGLES = 100
"""Sentences that are also translated one by one."""
FOR_PEERS = 1000
"""Sentences that other toolkits translate, the first ones: with more, the slowest of them would hold up all others."""


@dataclass(frozen=True, kw_only=True)
class DecodingContestant(Contestant):
    """Who translates, and its baseline: CTranslate2 by hand, with the same numeric precision if there is one."""

    baseline: str
    num_sentences: int
    """How many it translates in a turn, the first ones."""


@dataclass(frozen=True, slots=True)
class DecodingTurn:
    """What a contestant did in one turn."""

    seconds: float
    """For all sentences at once."""
    cpu: float
    """Seconds of all its threads."""
    latencies: list[float]
    """Seconds of single sentences, one by one."""
    peak: float
    """Peak memory so far, in MiB."""

    @property
    def median_latency(self) -> float:
        return median(self.latencies)


@dataclass(frozen=True, slots=True)
class DecodingResult:
    """All turns of one contestant with one beam; the n-th belongs to round n."""

    name: str
    baseline: str
    beam: int
    turns: list[DecodingTurn]
    texts: list[str]

    @property
    def rates(self) -> list[float]:
        """Sentences per second, turn by turn."""
        return [len(self.texts) / turn.seconds for turn in self.turns]


def contestants(work: DecodingWork, peers: Path | None = None) -> list[DecodingContestant]:
    """All whose programs are installed; other toolkits from their directory, if given."""

    def contestant(name: str, *arguments: str, baseline: str, may_fail: bool = False) -> DecodingContestant:
        command = python_command("decoding.decoders", str(work.directory), *arguments)
        return DecodingContestant(
            name=name, command=command, may_fail=may_fail, baseline=baseline, num_sentences=len(work.sources)
        )

    field = []
    for compute in ("float32", "int8"):
        by_hand = f"CTranslate2 by hand, {compute}"
        field += [
            contestant(by_hand, "ctranslate2", compute, baseline=by_hand),
            contestant(f"saccade, {compute}", "ours", "auto", compute, baseline=by_hand),
        ]
    first = field[0].name
    if find_spec("torch"):
        field.append(contestant("saccade, torch", "ours", "torch", "float32", baseline=first))
        if find_spec("transformers"):
            field.append(contestant("Hugging Face generate", "hugging_face", baseline=first, may_fail=True))
    return field + (peer_contestants(work, peers, baseline=first) if peers else [])


def peer_contestants(work: DecodingWork, directory: Path, baseline: str) -> list[DecodingContestant]:
    """Other toolkits that are installed."""
    return [
        DecodingContestant(
            name=name,
            command=(*command, str(work.directory)),
            may_fail=True,
            baseline=baseline,
            num_sentences=min(FOR_PEERS, len(work.sources)),
        )
        for name, command in peer_commands(directory, "decode").items()
    ]


def run_race(
    contestants: Sequence[DecodingContestant], work: DecodingWork, *, windows: int, report: Report = lambda line: None
) -> list[DecodingResult]:
    """All turns of all contestants, beam by beam; every other round runs backwards."""
    racing: dict[DecodingContestant, ContestantProcess] = {}
    turns: dict[tuple[DecodingContestant, int], list[DecodingTurn]] = {
        (contestant, beam): [] for beam in BEAMS for contestant in contestants
    }
    with ExitStack() as stack:
        for contestant in contestants:
            report(f"{contestant.name} warms up")
            with skip_failed(contestant, report):
                log = work.directory / f"{contestant.name}.log"
                process = stack.enter_context(ContestantProcess(contestant, log, work.threads))
                process.warm_up()
                racing[contestant] = process
        for number in range(windows):
            for beam in BEAMS:
                for contestant, process in list(racing.items())[:: 1 if number % 2 == 0 else -1]:
                    with skip_failed(contestant, report):
                        turn = _take_turn(process, contestant, work, beam)
                        turns[contestant, beam].append(turn)
                        rate = contestant.num_sentences / turn.seconds
                        report(
                            f"window {number + 1} of {windows}: {process.name}, beam {beam}: {rate:,.0f} sentences/s"
                        )
            racing = {one: process for one, process in racing.items() if len(turns[one, BEAMS[-1]]) > number}
    return [
        DecodingResult(racing[one].name, one.baseline, beam, measured, _read_texts(work, one, beam))
        for (one, beam), measured in turns.items()
        if one in racing
    ]


def _take_turn(
    process: ContestantProcess, contestant: DecodingContestant, work: DecodingWork, beam: int
) -> DecodingTurn:
    """As `turn.measure_turn` takes it."""
    output = str(_output(work, contestant, beam))
    return DecodingTurn(
        **process.take_turn(beam=beam, sentences=contestant.num_sentences, singles=SINGLES, output=output)
    )


def _output(work: DecodingWork, contestant: DecodingContestant, beam: int) -> Path:
    return work.directory / f"{contestant.name}, {beam}.json"


def _read_texts(work: DecodingWork, contestant: DecodingContestant, beam: int) -> list[str]:
    texts: list[str] = json.loads(_output(work, contestant, beam).read_text(encoding="utf-8"))
    return texts
