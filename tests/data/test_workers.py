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

from saccade.data.settings import CleaningSettings
from saccade.data.workers import _line, _read, in_order
from saccade.errors import WorkerLost


@dataclass(frozen=True)
class Holds:
    path: Path
    array: np.ndarray
    texts: list[str]
    settings: CleaningSettings


@pytest.mark.parametrize("workers", [0, 2])
def test_results_come_in_order(workers: int) -> None:
    assert list(in_order(abs, range(-20, 0), workers)) == list(range(20, 0, -1))


def test_an_error_reaches_the_caller() -> None:
    with pytest.raises(TypeError, match="bad operand"):
        list(in_order(operator.neg, [1, "a"], 2))


def test_a_refusal_by_the_system_keeps_its_reason() -> None:
    with pytest.raises(FileNotFoundError) as refused:
        list(in_order(os.stat, ["/nowhere"], 1))
    assert refused.value.filename == "/nowhere"


def test_paths_arrays_and_settings_arrive_as_they_were_sent() -> None:
    array = np.array([[True, False], [True, True]])
    sent = Holds(Path("a b"), array, ["ä", "\n", "{}"], CleaningSettings(max_ratio=2.5))
    for found in (_read(_line({"task": sent}))["task"], *in_order(copy.copy, [array], 1)):
        if isinstance(found, Holds):
            assert (found.path, found.texts, found.settings) == (sent.path, sent.texts, sent.settings)
            found = found.array
        assert found.dtype == array.dtype
        assert found.tolist() == array.tolist()


def test_a_lost_worker_is_told() -> None:
    with pytest.raises(WorkerLost, match="give the same command again"):
        list(in_order(os._exit, [1], 1))


def test_tasks_are_taken_up_as_results_are_asked_for() -> None:
    taken: list[int] = []
    results = in_order(abs, (taken.append(number) or number for number in range(100)), 1)
    assert next(results) == 0
    assert len(taken) < 10
    results.close()  # type: ignore[attr-defined]


def test_workers_do_not_outlive_a_killed_parent() -> None:
    """A program without `if __name__ == "__main__"`, as users write it."""
    program = """
import os
from saccade.data.workers import in_order
for worker in in_order(os.waitstatus_to_exitcode, [0] * 99, 1):
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children") as children:
        print(children.read(), flush=True)
    input()
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    for _ in range(200):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the worker is still there")
