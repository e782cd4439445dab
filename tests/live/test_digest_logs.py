"""`dyno digest` on a log that MariaDB wrote: it adds up, and scripts that read pt-query-digest's
report read ours."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from private_servers import running
from running import Place, place

from needed import missing

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

CALLS = {"select": 60, "update": 25, "insert": 15}


@pytest.fixture(scope="module")
def log() -> Iterator[Path]:
    config = {"slow_query_log": "ON", "long_query_time": "0", "slow_query_log_file": "slow.log"}
    with running("mariadb", config=config) as (bench, server):
        server.rows("CREATE DATABASE shop")
        server.rows("CREATE TABLE shop.stock (item INT PRIMARY KEY, q INT)")
        for n in range(CALLS["insert"]):
            server.rows(f"INSERT INTO shop.stock VALUES ({n}, {n * 3})")
        for n in range(CALLS["select"]):
            server.rows(f"SELECT q FROM shop.stock WHERE item = {n}")
        for n in range(CALLS["update"]):
            server.rows(f"UPDATE shop.stock SET q = q + {n} WHERE item < {n}")
        server.rows("SET GLOBAL slow_query_log = OFF")
        yield next(iter(bench.directory.rglob("slow.log")))


@pytest.fixture
def here() -> Iterator[Place]:
    with place() as made:
        yield made


def test_every_statement_is_counted(here: Place, log: Path) -> None:
    done = here.dyno("digest", log, "--json", "--limit", "all", "--strict")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    verbs = {one["distill"]: one["count"] for one in document["classes"]}
    counts = {verb: verbs.get(f"{verb.upper()} shop.stock") for verb in CALLS}
    assert counts == CALLS, verbs
    assert document["inputs"][0]["server"].startswith("MariaDB")
    text = here.dyno("digest", log)
    assert text.returncode == 0 and "statements of" in text.stdout.splitlines()[0]


# What scripts commonly look for; each gives groups that both reports must agree on.
HEADER = re.compile(
    r"^# Query (\d+): [\d.]+k? QPS, [\d.]+k?x concurrency, ID 0x([0-9A-F]{16,32}) at byte (\d+)",
    re.MULTILINE,
)
OVERALL = re.compile(r"^# Overall: (\S+) total, (\S+) unique, \S+ QPS, \S+x concurrency _+$", re.M)
RANGE = re.compile(r"^# Time range: (?:all events occurred at )?(\d{4}-\S+ \S+)", re.MULTILINE)
COUNT = re.compile(r"^# Count\s+(\d+)\s+(\S+)$", re.MULTILINE)
EXEC = re.compile(r"^# Exec time\s+(\d+)((?:\s+[\d.]+(?:us|ms|s)?){7})$", re.MULTILINE)
ROWS = re.compile(r"^# Rows examine\s+\d+\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)", re.MULTILINE)
PROFILE = re.compile(
    r"^#\s+(\d+) 0x([0-9A-F]+)(?:\.\.\.)?\s+([\d.]+)\s+([\d.]+)%\s+(\d+)\s+([\d.]+)\s+([\d.]+)"
    r"\s+(.+)$",
    re.MULTILINE,
)
BUCKET = re.compile(r"^# {0,2}(1us|10us|100us|1ms|10ms|100ms|1s|10s\+)( +#+)?$", re.MULTILINE)


def test_scripts_that_read_pt_query_digest_read_ours(here: Place, log: Path) -> None:
    program = shutil.which("pt-query-digest")
    if program is None:
        missing("no pt-query-digest: apt-get install percona-toolkit")
    theirs = subprocess.run(
        [program, "--no-version-check", "--limit", "100%", log],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    done = here.dyno("digest", log, "--format", "pt", "--limit", "all")
    assert done.returncode == 0, done.stderr
    ours = done.stdout
    assert OVERALL.findall(ours) == OVERALL.findall(theirs)
    assert len(RANGE.findall(ours)) == len(RANGE.findall(theirs)) > 3
    for pattern in (HEADER, COUNT, PROFILE):
        assert len(pattern.findall(ours)) == len(pattern.findall(theirs)) > 3, pattern.pattern
    assert len(BUCKET.findall(ours)) == len(BUCKET.findall(theirs))
    stock = [profile(text) for text in (ours, theirs)]
    assert stock[0].keys() == stock[1].keys() and len(stock[0]) == len(CALLS)
    for item, (id_, time_s, share, calls) in stock[0].items():
        id_there, time_there, share_there, calls_there = stock[1][item]
        assert calls == calls_there
        assert id_ == id_there or item == "UPDATE"  # whose fingerprint has a fault of theirs
        assert abs(time_s - time_there) <= 0.00011 and abs(share - share_there) <= 0.11
        mine, there = block(ours, id_), block(theirs, id_there)
        assert COUNT.findall(mine) == COUNT.findall(there)
        assert ROWS.findall(mine) == ROWS.findall(there)
        for pattern in (EXEC, BUCKET):
            assert len(pattern.findall(mine)) == len(pattern.findall(there)), pattern.pattern


def profile(report: str) -> dict[str, tuple[str, float, float, int]]:
    """Item -> (begin of its ID, seconds, share, calls) of the classes that are alike in both."""
    found = {}
    for _, id_, time_s, share, calls, _, _, item in PROFILE.findall(report):
        if item.split()[0] in ("SELECT", "UPDATE", "INSERT") and "stock" in item:
            name = item.split()[0]
            found[name] = (id_[:24], float(time_s), float(share), int(calls))
    return found


def block(report: str, id_: str) -> str:
    """A class's part of a report."""
    return next(part for part in report.split("\n# Query ") if f"ID 0x{id_}" in part)
