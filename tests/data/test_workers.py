import copy
import operator
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from saccade.data.workers import map_in_processes
from saccade.errors import DataError


@pytest.mark.parametrize("workers", [0, 2])
def test_results_come_in_order(workers: int) -> None:
    assert list(map_in_processes(abs, range(-20, 0), workers)) == list(range(20, 0, -1))


def test_an_error_reaches_the_caller() -> None:
    with pytest.raises(TypeError, match="bad operand"):
        list(map_in_processes(operator.neg, [1, "a"], 2))


def test_a_refusal_by_the_system_keeps_its_reason() -> None:
    with pytest.raises(FileNotFoundError) as refused:
        list(map_in_processes(os.stat, ["/nowhere"], 1))
    assert refused.value.filename == "/nowhere"


def test_arrays_arrive_as_they_were_sent() -> None:
    array = np.array([[True, False], [True, True]])
    (copied,) = map_in_processes(copy.copy, [array], 1)
    assert copied.dtype == array.dtype
    assert copied.tolist() == array.tolist()


def test_a_worker_that_died_is_reported_with_a_remedy() -> None:
    with pytest.raises(DataError, match=r"ran out of memory.*run the same command again"):
        list(map_in_processes(os._exit, [1] * 9, 2))


def test_tasks_are_taken_up_as_results_are_asked_for() -> None:
    taken: list[int] = []
    results = map_in_processes(abs, (taken.append(number) or number for number in range(100)), 1)
    assert next(results) == 0
    assert len(taken) < 10
    results.close()  # type: ignore[attr-defined]


def test_an_interrupt_does_not_wait_for_the_tasks_at_hand() -> None:
    began = time.monotonic()
    results = map_in_processes(time.sleep, [0, 600, 600, 600, 600], 2)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 60


PROGRAM = """
import time
from saccade.data.workers import map_in_processes
for _ in map_in_processes(time.sleep, [0] * 4 + [600] * 9, 2):
    print("ready", flush=True)
"""


@dataclass
class Program:
    """As users write it: a file without `if __name__ == "__main__"`, in a group of processes of its own."""

    process: subprocess.Popen[str]

    @property
    def children(self) -> list[int]:
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(child) for child in path.read_text().split()]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)

    def lead() -> None:
        os.setpgrp()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs inherit that it is ignored

    process = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=lead
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return Program(process)


def wait_until_gone(processes: list[int]) -> None:
    for _ in range(200):
        processes = [process for process in processes if Path(f"/proc/{process}").exists()]
        if not processes:
            return
        time.sleep(0.05)
    pytest.fail(f"{len(processes)} processes are still there")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_workers_do_not_outlive_a_killed_parent(program: Program, sent: signal.Signals) -> None:
    children = program.children
    assert len(children) >= 2
    program.process.send_signal(sent)
    assert "Traceback" not in program.process.communicate()[1]
    wait_until_gone(children)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")
def test_an_interrupt_of_the_terminal_is_heard_by_the_parent_alone(program: Program) -> None:
    children = program.children
    os.killpg(program.process.pid, signal.SIGINT)
    assert program.process.communicate()[1].count("Traceback") == 1, "that of the program itself"
    wait_until_gone(children)
