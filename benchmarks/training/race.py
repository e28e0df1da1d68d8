"""The training race: who takes part, and the turns of each."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contestants import (
    Contestant,
    ContestantProcess,
    Report,
    peer_commands,
    python_command,
    skip_failed,
)
from benchmarks.training.work import DROPOUT_PLACES, DropoutPlaces, TrainingWork

SGEMM_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class TrainingContestant(Contestant):
    """Who trains, and where it applies dropout."""

    places: DropoutPlaces = "everywhere"


@dataclass(frozen=True, slots=True)
class TrainingTurn:
    """What a contestant did in one turn."""

    tokens: float
    """Target tokens learned from, EOS included, padding not."""
    updates: int
    seconds: float
    peak: float
    """Peak memory so far, in MiB."""

    @property
    def rate(self) -> float:
        """Tokens per second."""
        return self.tokens / self.seconds


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """All turns of one contestant; the n-th belongs to round n."""

    name: str
    places: DropoutPlaces
    turns: list[TrainingTurn]
    epoch_peak: float | None = None
    """Peak memory after a full epoch, in MiB, if measured."""

    @property
    def peak(self) -> float:
        """Peak memory after all windows, in MiB."""
        return self.turns[-1].peak


@dataclass(frozen=True, slots=True)
class TrainingRace:
    """The outcome for one model size."""

    work: TrainingWork
    results: list[TrainingResult]
    sgemm_peak: float
    """FLOP/s."""


def ours(
    work: TrainingWork, places: DropoutPlaces, *, without: str | None = None, name: str = "saccade"
) -> TrainingContestant:
    """The loop of `saccade train`, optionally without one of its tricks."""
    arguments = (str(work.directory), places, *([without] if without else []))
    return TrainingContestant(name=name, command=python_command("training.ours", *arguments), places=places)


def plain(work: TrainingWork, places: DropoutPlaces) -> TrainingContestant:
    """The loop that a competent user writes."""
    command = python_command("training.plain", str(work.directory), places)
    return TrainingContestant(name="plain torch loop", command=command, places=places)


def peers(work: TrainingWork, directory: Path) -> list[TrainingContestant]:
    """Other toolkits that are installed."""
    return [
        TrainingContestant(name=name, command=(*command, str(work.directory)), may_fail=True)
        for name, command in peer_commands(directory, "train").items()
    ]


def sgemm(work: TrainingWork) -> TrainingContestant:
    """Products of large matrices, the bound of all contestants."""
    return TrainingContestant(name="sgemm", command=python_command("training.sgemm", str(work.directory)))


def run_race(
    contestants: Sequence[TrainingContestant],
    work: TrainingWork,
    *,
    windows: int,
    seconds: float,
    epoch: bool = False,
    report: Report = lambda line: None,
) -> TrainingRace:
    """All turns of all contestants; every other round runs backwards. A contestant that may fail and does is skipped.

    With `epoch`, everyone then trains for one epoch more, so that it has seen every batch shape of one.
    """

    def start(contestant: TrainingContestant) -> ContestantProcess:
        log = work.directory / f"{contestant.name} {contestant.places}.log"
        process = stack.enter_context(ContestantProcess(contestant, log, work.threads))
        process.warm_up()
        return process

    sgemm_peak = 0.0
    racing: dict[TrainingContestant, ContestantProcess] = {}
    turns: dict[TrainingContestant, list[TrainingTurn]] = {contestant: [] for contestant in contestants}
    with ExitStack() as stack:
        measure = start(sgemm(work))
        for contestant in contestants:
            report(f"{contestant.name} (dropout: {DROPOUT_PLACES[contestant.places]}) warms up")
            with skip_failed(contestant, report):
                racing[contestant] = start(contestant)
        for number in range(windows + epoch):
            if number < windows:
                title, request = f"window {number + 1} of {windows}", {"seconds": seconds, "tokens": 0}
                sgemm_peak = max(sgemm_peak, TrainingTurn(**measure.take_turn(seconds=SGEMM_SECONDS, tokens=0)).rate)
            else:
                title, request = "epoch", {"seconds": 0, "tokens": work.epoch_tokens}
            for contestant, process in list(racing.items())[:: 1 if number % 2 == 0 else -1]:
                with skip_failed(contestant, report):
                    turn = TrainingTurn(**process.take_turn(**request))
                    turns[contestant].append(turn)
                    report(f"{title}: {process.name} {turn.rate:,.0f} tokens/s, peak {turn.peak:,.0f} MiB")
            racing = {one: process for one, process in racing.items() if len(turns[one]) > number}
    results = [
        TrainingResult(
            process.name,
            contestant.places,
            turns[contestant][:windows],
            turns[contestant][-1].peak if epoch else None,
        )
        for contestant, process in racing.items()
    ]
    return TrainingRace(work, results, sgemm_peak)
