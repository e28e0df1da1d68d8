"""Contestants, each in a process of its own. They take turns, one at a time, so that other work on the machine disturbs
neighbours in a round equally, and so that peak memory is each one's own.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from saccade.errors import SaccadeError

ROOT = Path(__file__).parents[1]
PATIENCE = 10.0
"""Seconds that a contestant has to exit when there are no more turns."""
Report = Callable[[str], None]
"""Receives a line of progress."""


class ContestantFailed(SaccadeError):
    """A contestant did not answer."""


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A name in the tables, and how its process is started."""

    name: str
    command: tuple[str, ...]
    may_fail: bool = False
    """If it fails, the race continues without it."""


class ContestantProcess:
    """The process of a contestant, from its start to its end."""

    def __init__(self, contestant: Contestant, log: Path, threads: int) -> None:
        self.contestant, self.name = contestant, contestant.name
        self._log = log
        # Threads that spin while their process waits would take a core from the process whose turn it is.
        environment = {
            "OMP_WAIT_POLICY": "PASSIVE",
            **os.environ,
            "OMP_NUM_THREADS": str(threads),
            "MKL_NUM_THREADS": str(threads),
            "PYTHONPATH": os.pathsep.join(
                [str(ROOT), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
        }
        with log.open("w") as file:
            self._process = subprocess.Popen(
                contestant.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                env=environment,
                start_new_session=True,  # so that its children end with it
            )

    def __enter__(self) -> "ContestantProcess":
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
        """Wait until it is ready. It may then give a better name, such as one with its version."""
        self.name = self._read_answer().get("name", self.name)

    def take_turn(self, **request: Any) -> dict[str, Any]:
        """Request one turn and return the answer."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # reading the answer explains why
            print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._read_answer()

    def _read_answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            last = "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:])
            raise ContestantFailed(
                f"{self.contestant.name} must answer every turn, but its process exited with code {code}. "
                f"Its last output:\n{last}"
            )
        answer: dict[str, Any] = json.loads(line)
        return answer


def python_command(module: str, *arguments: str) -> tuple[str, ...]:
    """A contestant of this repository, run by this Python."""
    return (sys.executable, "-m", f"benchmarks.{module}", *arguments)


def peer_commands(peers: Path, task: Literal["train", "decode"]) -> dict[str, tuple[str, ...]]:
    """By name, the scripts for the task whose environment install.sh has made below venv/."""
    scripts = sorted((peers / task).glob("*.py"))
    pythons = {script: peers.absolute() / "venv" / script.stem / "bin" / "python" for script in scripts}
    # -P: a script named for its toolkit must not be what `import` finds.
    return {script.stem: (str(python), "-P", str(script)) for script, python in pythons.items() if python.exists()}


@contextmanager
def skip_failed(contestant: Contestant, report: Report) -> Iterator[None]:
    """If it may fail and does, report that and continue."""
    try:
        yield
    except ContestantFailed as error:
        if not contestant.may_fail:
            raise
        report(f"{error}\nSkipping {contestant.name}.")
