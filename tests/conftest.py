"""What holds for all tests: how made-up input is run, and in which order tests are."""

from __future__ import annotations

import gc
import signal
from itertools import groupby

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

TOLD_S = 0.1  # set-ups and tear-downs from this length are in the list of durations

# No test asserts timing. Hypothesis does by default, 200 ms an example, and neighbours are busy.
settings.register_profile("untimed", deadline=None)
settings.register_profile("check", deadline=None, max_examples=25)  # `make check`
settings.load_profile("untimed")

# A shell that runs `make test` in the background ignores these, and so would all that tests start.
for name in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(name) is signal.SIG_IGN:
        signal.signal(name, signal.default_int_handler)


def pytest_collection() -> None:
    """Nothing of what is imported and collected is garbage."""
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Garbage is collected less often: else a tenth of the CPU time of the tests goes into going
    through what was imported and collected, over and over."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 10, 10)


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """As pytest's own, but one of several processes reports no set-up or tear-down that passes at
    once: to send and read three reports takes as much CPU time as most tests."""
    if not hasattr(item.config, "workerinput"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration > TOLD_S:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Gives each of several processes files of live tests to begin with: these are slow, and what
    is left over to steal from in the end is quick."""
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    if processes > 1:
        items[:] = _dealt(items, processes)


def _dealt(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """Stretches of one length, one a process, as `--dist worksteal` cuts them; files are kept
    together."""
    live = [item for item in items if item.get_closest_marker("live")]
    files = [list(tests) for _, tests in groupby(live, key=lambda item: item.path)]
    stretches: list[list[pytest.Item]] = [[] for _ in range(processes)]
    for tests in sorted(files, key=len, reverse=True):
        min(stretches, key=len).extend(tests)
    others = [item for item in items if not item.get_closest_marker("live")]
    for number, stretch in enumerate(stretches):
        room = max(0, (len(items) + number) // processes - len(stretch))
        stretch += others[:room]
        del others[:room]
    return [item for stretch in stretches for item in stretch] + others
