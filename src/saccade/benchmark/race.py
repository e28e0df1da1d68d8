"""Contestants in processes of their own, taking turns: only one trains at a time, so that other work on the machine
disturbs neighbours in a round alike, and peak memory is each one's own.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from saccade.benchmark.work import DROPS, Drops, Work
from saccade.errors import SaccadeError

if TYPE_CHECKING:
    from saccade.benchmark.sentences import Sentences

SGEMM_SECONDS = 1.0
PATIENCE = 10.0
"""Seconds in which a contestant is to end when there are no more turns."""


class ContestantFailed(SaccadeError):
    """A contestant that gave no answer."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """Who takes part, and how it is started."""

    name: str
    command: tuple[str, ...]
    drops: Drops = "everywhere"
    may_fail: bool = False
    """A race without it is still worth something."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a contestant did in one window."""

    tokens: float
    """Target tokens learned from, EOS included, padding not."""
    updates: int
    seconds: float
    peak: float
    """The most memory so far, in MiB."""

    @property
    def rate(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds


@dataclass(frozen=True, slots=True)
class Result:
    """All turns of one contestant; the n-th belongs to round n."""

    name: str
    drops: Drops
    turns: list[Turn]


def ours(work: Work, drops: Drops, *, without: str | None = None, called: str = "saccade") -> Contestant:
    """The loop of `saccade train`, perhaps without one of its tricks."""
    words = (str(work.directory), drops, *([without] if without else []))
    return Contestant(called, (sys.executable, "-m", "saccade.benchmark.ours", *words), drops)


def plain(work: Work, drops: Drops) -> Contestant:
    """The loop that a competent user writes."""
    words = (str(work.directory), drops)
    return Contestant("plain torch loop", (sys.executable, "-m", "saccade.benchmark.plain", *words), drops)


def sgemm(work: Work) -> Contestant:
    """Products of large matrices, the bound of them all."""
    return Contestant("sgemm", (sys.executable, "-m", "saccade.benchmark.sgemm", str(work.directory)))


def peers(work: "Work | Sentences", directory: Path, task: Literal["train", "decode"]) -> list[Contestant]:
    """Every script for the task whose environment was installed below venv/."""
    scripts = sorted((directory / task).glob("*.py"))
    pythons = {script: directory.absolute() / "venv" / script.stem / "bin" / "python" for script in scripts}
    return [
        Contestant(script.stem, (str(python), str(script), str(work.directory)), may_fail=True)
        for script, python in pythons.items()
        if python.exists()
    ]


class Racer:
    """A contestant's process, from its start until it has ended."""

    def __init__(self, contestant: Contestant, work: "Work | Sentences") -> None:
        self.contestant, self.name = contestant, contestant.name
        self._log = work.directory / f"{contestant.name} {contestant.drops}.log"
        threads = str(work.threads)
        # Threads that spin while their process waits would take a core from whose turn it is.
        environment = {
            "OMP_WAIT_POLICY": "PASSIVE",
            **os.environ,
            "OMP_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
        }
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                contestant.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment,
                start_new_session=True,  # so that its children end with it
            )

    def __enter__(self) -> "Racer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(BrokenPipeError):
            stdin.close()  # no more turns
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0 if error else PATIENCE)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        stdout.close()

    def warm_up(self) -> None:
        """Wait until it is ready; it may then tell a better name."""
        self.name = self._answer().get("name", self.name)

    def turn(self, seconds: float) -> Turn:
        """Let it train for so long."""
        return Turn(**self.ask(str(seconds)))

    def ask(self, line: str) -> dict[str, Any]:
        """Give it a turn; what it answers."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # that there is no answer says more
            print(line, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            last = "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:])
            raise ContestantFailed(
                f"{self.contestant.name} must answer every turn, but its process ended with code {code}. "
                f"Its last words:\n{last}"
            )
        answer: dict[str, Any] = json.loads(line)
        return answer


def race(
    contestants: Sequence[Contestant],
    work: Work,
    *,
    windows: int,
    seconds: float,
    told: Callable[[str], None] = lambda line: None,
) -> tuple[list[Result], float]:
    """All turns of all contestants, and the sgemm peak in FLOP/s. Every other round runs backwards.

    A contestant that may fail and does is told and left out.
    """
    with ExitStack() as stack:
        measure = stack.enter_context(Racer(sgemm(work), work))
        measure.warm_up()
        peak, racing = 0.0, []
        turns: dict[Racer, list[Turn]] = {}
        for contestant in contestants:
            told(f"{contestant.name} (dropout: {DROPS[contestant.drops]}) warms up")
            with forgiven(contestant, told):
                racer = stack.enter_context(Racer(contestant, work))
                racer.warm_up()
                racing.append(racer)
        for number in range(windows):
            peak = max(peak, measure.turn(SGEMM_SECONDS).rate)
            for racer in racing if number % 2 == 0 else racing[::-1]:
                with forgiven(racer.contestant, told):
                    turn = racer.turn(seconds)
                    turns.setdefault(racer, []).append(turn)
                    told(f"window {number + 1} of {windows}: {racer.name} {turn.rate:,.0f} tokens/s")
            racing = [racer for racer in racing if len(turns.get(racer, ())) > number]
    return [Result(racer.name, racer.contestant.drops, turns[racer]) for racer in racing], peak


@contextmanager
def forgiven(contestant: Contestant, told: Callable[[str], None]) -> Iterator[None]:
    """One that may fail and does is told, and the race goes on."""
    try:
        yield
    except ContestantFailed as error:
        if not contestant.may_fail:
            raise
        told(f"{error}\n{contestant.name} is left out.")
