"""`--metrics-listen` on a real run: scraped in mid-run, gone at its end, refused if it cannot."""

from __future__ import annotations

import re
import socket
import threading
import urllib.request
from http.client import HTTPException

import pytest
from ending import LONG, ended
from running import Place, wait_for

pytestmark = pytest.mark.live

EXPERIMENT = f"""\
experiment: watched
targets:
  db: {{kind: sqlite, isolation: serializable, memory: 8Mi, durability: none}}
workload: {{kind: oltp, preset: point_select, rows: 100}}
factors:
  sessions: [1, 2]
blocks: 1
warmup: 200ms
duration: {LONG}
interval: 200ms
"""


RATE = (
    r'dbdyno_transactions_per_second\{experiment="watched",trial="b01-t00[12]",'
    r'level_sessions="[12]",group="workload",phase="(warmup|measure)"\} \d'
)


def fetched(url: str) -> str:
    """What is answered there; nothing if nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            text: str = answer.read().decode()
            return text
    except (OSError, HTTPException, UnicodeDecodeError):
        return ""


def test_a_run_is_scraped_while_it_lasts(there: Place) -> None:
    file = there.experiment(EXPERIMENT)
    log = there.path / "out" / "run.log"
    found: list[str] = []
    texts = [""]
    is_seen = threading.Event()

    def told() -> bool:
        found[:] = re.findall(r"metrics: (http://127\.0\.0\.1:\d+/metrics)", log.read_text())
        return bool(found)

    def scraped() -> bool:
        texts.append(fetched(found[0]))
        return "dbdyno_transactions_total" in texts[-1] and bool(re.search(RATE, texts[-1]))

    with ended(there.path / "out", lambda watched: is_seen.is_set()):
        run = there.start("run", file, "--dir", "out", "--metrics-listen", "0")
        assert wait_for(lambda: log.exists() and told(), 180)
        assert wait_for(scraped, 180)
        is_seen.set()
        output, _ = run.communicate(timeout=240)
    assert run.returncode == 0, output
    assert 'dbdyno_trials_planned{experiment="watched"} 2' in texts[-1]
    assert "dbdyno_" not in fetched(found[0])  # another program may have the port by now
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
