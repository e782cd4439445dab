"""`dyno digest` on a log that MariaDB wrote: it adds up, and scripts that read pt-query-digest's
report read ours."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from private_servers import running
from ruamel.yaml import YAML
from running import Place, place

from needed import missing

pytestmark = pytest.mark.live

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


# What scripts commonly search; each gives groups that both reports must agree on.
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
        assert (
            id_ == id_there or item == "UPDATE"
        )  # whose fingerprint has a fault of pt-query-digest
        assert abs(time_s - time_there) <= 0.00011 and abs(share - share_there) <= 0.11
        mine, there = block(ours, id_), block(theirs, id_there)
        assert COUNT.findall(mine) == COUNT.findall(there)
        assert ROWS.findall(mine) == ROWS.findall(there)
        for pattern in (EXEC, BUCKET):
            assert len(pattern.findall(mine)) == len(pattern.findall(there)), pattern.pattern


HINT = "/*+ MAX_EXECUTION_TIME(1000) SET_VAR(optimizer_switch='mrr=off') SET_VAR(a=16M) */"
ODD = (
    f"select {HINT} a from t where b = {{n}}",
    "select /*+ MAX_EXECUTION_TIME({n}) */ a, b from t where b = {n}",
    "select /*!40001 SQL_NO_CACHE */ c from t where b = '{n}:p1'",
    "insert /*+ SET_VAR(a='{n}') */ into t values ({n}, ':p2'), (2, 'x')",
    "select :p1, d from t where b = {n}",
    "select `a:p1`, ':p9' from t -- :p3 it's\n where b in ({n}, -1) and e = {n} # :p4\n",
    "update t set a = 'x''y{n}', b = \"{n}\" where c between {n} and {n} + 1 /* :p5 */",
)


def slow_log(statements: Iterable[str]) -> str:
    return "".join(
        f"# Time: 2025-11-22T04:{n // 60 % 60:02}:{n % 60:02}.000000Z\n"
        f"# User@Host: app[app] @ h []  Id: 5\n# Schema: shop\n# Query_time: 0.{n % 1000:06}"
        "  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
        f"SET timestamp={1763786535 + n};\n{statement};\n"
        for n, statement in enumerate(statements)
    )


def test_a_workload_names_no_parameter_that_it_does_not_declare(here: Place) -> None:
    log, file = here.path / "odd.log", here.path / "odd.yaml"
    log.write_text(slow_log(one.format(n=n) for n in range(40) for one in ODD))
    refused = here.dyno("digest", log, "--workload", file)  # three of the seven cannot be sent
    assert refused.returncode == 2 and "--accept-partial" in refused.stderr and not file.exists()
    done = here.dyno("digest", log, "--workload", file, "--accept-partial")
    assert done.returncode == 0, done.stderr
    text = file.read_text()
    group = YAML(typ="safe").load(text)["groups"]["app"]
    sent = [one["sql"] for one in group["statements"].values()]
    assert sum(HINT in sql for sql in sent) == 1 and len(sent) == 4
    for sql in sent:
        bare = re.sub(r"'[^']*'|`[^`]*`", "", sql)
        assert set(re.findall(r":(\w+)", bare)) <= set(group["params"]), sql
    for why in ("hints whose values differ from call to call", "be parsed with certainty"):
        assert why in text.replace("\n# ", " ")
    assert here.dyno("run", file, "--dry-run", "--write-to", "shop").returncode == 0


STRINGS = ("x", "a (b)", "a),(b", " -- c", " # c\n", "/* c", "*/", "2020-01-01", "", "a;b", "`")
NAMES = ("a", "t.a", "`a`", "`b c`", "`order-items`", "`null`", "`a  b`", "`true`", "`limit`", "t1")


class Plain:
    """Statements of the forms that pt-query-digest reads well, and of those that it mangles."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def some(self, make: Callable[[], str], least: int = 1) -> str:
        return self.one(",", ", ").join(make() for _ in range(self.random.randint(least, 3)))

    def one(self, *of: str) -> str:
        return self.random.choice(of)

    def value(self) -> str:
        text = "".join(self.one(*STRINGS) for _ in range(self.random.randint(0, 2)))
        plain = self.one("5", "1.5", "'x'", "null", f"'{text}'", f'"{text}"')
        return self.one(plain, plain, plain, "-3", "0xff", "1e5", "true", "'it''s'", "'a' 'b'")

    def item(self) -> str:
        return self.one(self.value(), self.value(), "now()", "default", f"f({self.value()}, g(1))")

    def condition(self) -> str:
        name, value = self.one(*NAMES), self.value()
        return self.one(
            f"{name} = {value}",
            f"{name}>{value}",
            f"{name} in{self.one('', ' ')}({self.some(self.value)})",
            f"{name} in ({self.some(self.item)})",
            f"(a, b) in ((1, 2), ({self.some(self.value)}))",
            f"{name} between 1 and {value}",
            f"{name} is not null and not (a < {value})",
            f"{name} in (select b from u where c = {value})",
        )

    def rows(self) -> str:
        shape = [self.one("?", "?", "now()", "f(?)", "default") for _ in range(2)]

        def row() -> str:
            return f"({', '.join(shape).replace('?', self.value())})"

        return self.one(self.some(row), self.some(lambda: f"({self.some(self.item)})"))

    def statement(self) -> str:
        table = self.one("t", "db.t", "`t`", "t")
        tail = self.one("", "", " returning a", " on duplicate key update a = 1")
        order = f"order by {self.one(*NAMES)}{self.one('', ' asc', ' DESC', ' asc, asc_b')}"
        limit = self.one("5", "5, 10", "5 offset 2", "?", "5 for update")
        union, operator = self.one("union", "union all"), self.one("%", "||", "<=>", "&", "+", "/")
        other = f"{self.one('a', 'b')} from {self.one('t', 't, u')}"
        return self.one(
            f"select {self.one(*NAMES)} from {table} where a = 5 {order} limit {limit}",
            f"select a from {table} where a {operator} 5 {operator} b = ?",
            f"select a from {table} {union} select {other}",
            f"call {self.one('p', 'db.P1', '`p`')}{self.one('', ' ')}({self.some(self.item)})",
            f"set @{self.one('a', 'B', 'a1')} = {self.value()}, @@global.b := 5",
            f"load data local infile {self.value()} into table {table}",
            f"insert into {table} {self.one('value', 'values')} {self.one('()', '(?)', '(?, ?)')}",
            f"select {self.one(*NAMES)} from {table} where {self.condition()}",
            f"{self.one('insert', 'replace')} into {table} (a, b) values {self.rows()}{tail}",
            f"INSERT INTO {table} VALUES{self.rows()}",
            f"update {table} set a = {self.item()}\nwhere {self.condition()} and b = 1",
            f"delete from {table} where {self.condition()}",
        )


def test_ids_of_pt_query_digest_are_those_that_it_gives(here: Place) -> None:
    program = shutil.which("pt-query-digest")
    if program is None:
        missing("no pt-query-digest: apt-get install percona-toolkit")
    made, log = Plain(7), here.path / "plain.log"
    log.write_text(slow_log(made.statement() for _ in range(1500)))
    theirs = subprocess.run(
        [program, "--no-version-check", "--limit", "100%", "--output", "json", log],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    there = {one["checksum"] for one in json.loads(theirs[theirs.index("{") :])["classes"]}
    done = here.dyno("digest", log, "--json", "--limit", "all")
    assert done.returncode == 0, done.stderr
    named = [one for one in json.loads(done.stdout)["classes"] if one["pt_id"]]
    wrong = [one["fingerprint"] for one in named if one["pt_id"] not in there]
    assert not wrong and len(named) > 50, wrong


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
