"""`--metrics-listen` on a real run: scraped in mid-run, gone at its end, refused if it cannot."""

from __future__ import annotations

import re
import socket
import urllib.request

import pytest
from running import Place, listens, wait_for

pytestmark = pytest.mark.live

EXPERIMENT = """\
experiment: watched
targets:
  db: {kind: sqlite, isolation: serializable, memory: 8Mi, durability: none}
workload: {kind: oltp, preset: point_select, rows: 100}
factors:
  sessions: [1, 2]
blocks: 1
warmup: 200ms
duration: 2s
interval: 200ms
"""


def test_a_run_is_scraped_while_it_lasts(there: Place) -> None:
    file = there.experiment(EXPERIMENT)
    run = there.start("run", file, "--dir", "out", "--metrics-listen", "0")
    log = there.path / "out" / "run.log"
    found: list[str] = []

    def told() -> bool:
        found[:] = re.findall(r"metrics: (http://127\.0\.0\.1:\d+/metrics)", log.read_text())
        return bool(found)

    assert wait_for(lambda: log.exists() and told())
    text = ""

    def scraped() -> bool:
        nonlocal text
        try:
            with urllib.request.urlopen(found[0], timeout=10) as answer:
                text = answer.read().decode()
        except OSError:
            return run.poll() is not None  # over: no use waiting
        return "dbdyno_transactions_total" in text

    assert wait_for(scraped)
    assert 'dbdyno_trials_planned{experiment="watched"} 2' in text
    assert re.search(
        r'dbdyno_transactions_per_second\{experiment="watched",trial="b01-t00[12]",'
        r'level_sessions="[12]",group="workload",phase="(warmup|measure)"\} \d',
        text,
    )
    output, _ = run.communicate(timeout=120)
    assert run.returncode == 0, output
    assert not listens(int(found[0].rpartition(":")[2].partition("/")[0]))
    assert there.until_clean() == []


def test_a_port_in_use_is_said_before_anything_is_made(there: Place) -> None:
    file = there.experiment(EXPERIMENT)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = there.dyno("run", file, "--dir", "out", "--metrics-listen", port)
    assert done.returncode == 2
    assert f"cannot serve metrics on 127.0.0.1:{port}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (there.path / "out").exists()
