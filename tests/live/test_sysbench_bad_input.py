"""Scripts and files that go wrong: output, kept files, and how the call ends."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from private_servers import CORE
from scripted import DRIVERS, address, call, command, serving, started

pytestmark = pytest.mark.live


def written(path: Path, text: str) -> Path:
    script = path / "own.lua"
    script.write_text(text)
    return script


def test_a_script_with_a_syntax_error_is_named_with_its_line(tmp_path: Path) -> None:
    written(tmp_path, "function event(\n  print('x'\nend\n")
    for word in ("run", "help", "prepare"):
        done = call("own.lua", word, cwd=tmp_path)
        assert done.returncode == 1
        assert "FATAL: own.lua:2: " in done.stdout


OPTIONS = """
sysbench.cmdline.options = { number = {"", 5}, switch = {"", false} }
function event() end
"""
WRONG = {
    "--number=abc": "Invalid value for the 'number' option: 'abc'",
    "--switch=maybe": "invalid option: --switch=maybe",
    "--none=1": "invalid option: --none=1",
    "--threads=abc": "Invalid value for the 'threads' option: 'abc'",
    "--threads=0": "FATAL: Invalid value for --threads: 0.",
    "--percentile=101": "FATAL: Invalid value for --percentile: 101",
    "--rand-type=foo": "FATAL: Invalid random numbers distribution: foo.",
}


def test_options_of_a_wrong_type_are_refused_in_sysbenchs_words(tmp_path: Path) -> None:
    script = written(tmp_path, OPTIONS)
    for option, said in WRONG.items():
        done = call(script, option, "--events=1", "run")
        assert (done.returncode, said in done.stdout) == (1, True), done.stdout


def test_endless_loops_end_with_a_report_or_in_time(tmp_path: Path) -> None:
    script = written(tmp_path, "function event(tid) if tid == 0 then while true do end end end")
    done = call(script, "--threads=2", "--time=1", "--forced-shutdown=1", "run")
    assert done.returncode == 2, done.stdout
    assert "Number of unfinished transactions on forced shutdown: " in done.stdout
    assert "total number of events: " in done.stdout

    script = written(tmp_path, "function thread_init() while true do end end function event() end")
    done = call(script, "--threads=2", "--thread-init-timeout=1", "run")
    assert done.returncode == 1, done.stdout
    assert "FATAL: Worker threads failed to initialize within 1 seconds!" in done.stdout


def test_memory_that_is_used_up_ends_the_run_and_keeps_the_figures(tmp_path: Path) -> None:
    text = """
local kept, events = {}, 0
function event()
  events = events + 1
  if events <= 100 then return end
  for i = 1, 1e9 do kept[i] = ("x"):rep(1e6) .. i end
end
"""
    done = call(written(tmp_path, text), "--events=200", "--time=0", "run")
    assert done.returncode == 1, done.stdout
    assert "FATAL: `thread_run' function failed: not enough memory" in done.stdout
    assert "total number of events:              100\n" in done.stdout


def test_a_reader_that_goes_away_ends_the_call_as_elsewhere(tmp_path: Path) -> None:
    script = written(tmp_path, "function event() print('x') end")
    with subprocess.Popen(command(script, "--time=0", "run"), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == -signal.SIGPIPE


def test_addresses_that_do_not_answer_are_named_each(tmp_path: Path) -> None:
    text = "function thread_init() sysbench.sql.driver():connect() end function event() end"
    where = ("--mysql-host=127.0.0.1", "--mysql-port=1,2", "--threads=2")
    done = call(written(tmp_path, text), *where, "run")
    assert done.returncode == 1
    for port in (1, 2):
        on = f"FATAL: unable to connect to MySQL server on host '127.0.0.1', port {port}, aborting"
        assert on in done.stdout


TRACED = """
function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS t")
  con:query("CREATE TABLE t(a INT)")
  stmt = con:prepare("SELECT a FROM t WHERE a = ?")
  a = stmt:bind_create(sysbench.sql.type.INT)
  stmt:bind_param(a)
end
function event()
  con:query("INSERT INTO t VALUES (1), (2)")
  a:set(2)
  stmt:execute()
  pcall(con.query, con, "SELECT nothing")
end
function thread_done() con:disconnect() end
"""


@pytest.fixture(params=CORE)
def served(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, list[str]]]:
    """The kind of a server, and the options that lead to it."""
    with serving(request.param, monkeypatch) as (_, _, port):
        yield request.param, address(request.param, port)


DEADLOCKS = """
function prepare()
  con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE d (id INT PRIMARY KEY, v INT)")
  con:query("INSERT INTO d VALUES (1, 0), (2, 0)")
end
function thread_init() con = sysbench.sql.driver():connect() end
function event(tid)
  local first = tid % 2 + 1
  con:query("BEGIN")
  con:query("UPDATE d SET v = v + 1 WHERE id = " .. first)
  con:query("UPDATE d SET v = v + 1 WHERE id = " .. 3 - first)
  con:query("COMMIT")
end
"""
DEADLOCK = {"mariadb": ("1213", "1213,1020"), "postgres": ("40P01", "40P01,40001")}
HUNG = """
function thread_init() con = sysbench.sql.driver():connect() end
function event(tid)
  con:query(tid == 0 and "UPDATE d SET v = v + 1 WHERE id = 1" or "SELECT 1")
end
"""
LOCK = """
local con = sysbench.sql.driver():connect()
con:query("BEGIN")
con:query(sysbench.opt.db_driver == "pgsql" and "LOCK TABLE d" or "LOCK TABLES d WRITE")
print("locked")
while true do con:query("SELECT 1") end
"""


def test_what_a_driver_is_asked_and_answers_is_told(
    served: tuple[str, list[str]], tmp_path: Path
) -> None:
    kind, where = served
    script = written(tmp_path, TRACED)
    driver = DRIVERS[kind]
    done = call(script, *where, "--db-debug", "--verbosity=5", "--events=1", "run")
    assert done.returncode == 0, done.stdout
    told = [line.partition(f"DEBUG: {driver} #0.0 ")[2] for line in done.stdout.splitlines()]
    told = [line for line in told if line]
    assert told[0].startswith("connect 127.0.0.1:") and told[1] == "connected"
    assert 'prepare "SELECT a FROM t WHERE a = ?"' in told
    begin = told.index('query "INSERT INTO t VALUES (1), (2)"')
    assert told[begin + 1] == "= changed 2"
    assert told[begin + 2].startswith("execute ") and told[begin + 2].endswith(" (2)")
    assert told[begin + 3] == "= fields 1, rows 1"
    assert told[begin + 4] == 'query "SELECT nothing"'
    assert told[begin + 5].startswith("= error ")
    assert told[-1] == "disconnect"
    for line in ("Worker thread (#0) started", "Worker thread (#0) initialized"):
        assert f"DEBUG: {line}\n" in done.stdout
    assert "\nEvent limit exceeded, exiting...\nDone.\n" in done.stdout

    done = call(script, *where, "--db-debug", "--events=1", "run")
    assert done.returncode == 0 and "DEBUG" not in done.stdout
    done = call(script, *where, "--mysql-debug", "--events=1", "run")
    assert ("DEBUG: mysql #0.0 query" in done.stdout) == (kind == "mariadb")


def test_deadlocks_are_ignored_where_the_list_has_them(
    served: tuple[str, list[str]], tmp_path: Path
) -> None:
    kind, where = served
    script = written(tmp_path, DEADLOCKS)
    assert call(script, *where, "prepare").returncode == 0
    code, codes = DEADLOCK[kind]
    ignore = f"--{DRIVERS[kind]}-ignore-errors="
    timed = [*where, "--threads=4", "--time=3"]
    done = call(script, *timed, ignore + codes, "run")
    assert done.returncode == 0, done.stdout
    assert f"{code}: " in done.stdout.partition("Errors by code:")[2]

    done = call(script, *timed, ignore + "1", "run")
    assert done.returncode == 1, done.stdout
    assert code in done.stdout.partition("FATAL: `thread_run' function failed: ")[2]
    assert "total number of events: " in done.stdout


def test_a_query_that_hangs_is_cut_at_the_deadline(
    served: tuple[str, list[str]], tmp_path: Path
) -> None:
    _, where = served
    assert call(written(tmp_path, DEADLOCKS), *where, "prepare").returncode == 0
    lock = tmp_path / "lock.lua"
    lock.write_text(LOCK)
    with started(command(lock, *where), "locked"):
        script = written(tmp_path, HUNG)
        # The other session ends by itself, if it is given the time.
        done = call(script, *where, "--threads=2", "--time=1", "--forced-shutdown=4", "run")
    assert done.returncode == 2, done.stdout
    assert "Number of unfinished transactions on forced shutdown: 1\n" in done.stdout
    events = int(done.stdout.partition("total number of events:")[2].split()[0])
    assert events > 0  # of the other session
