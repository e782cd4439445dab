"""`dyno try`: what its arguments mean, what it refuses, how long its trials are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from plans import plan as make_plan

from dbdyno.analysis.types import Ratio
from dbdyno.cli.terminal import login
from dbdyno.cli.trying import sent, servers, timing
from dbdyno.cli.trying.command import try_
from dbdyno.errors import DynoError
from dbdyno.experiment import load
from dbdyno.plan.outlook import estimate
from dbdyno.wording.verdicts.ratio_text import verdict


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def asked(*words: str) -> Result:
    return CliRunner().invoke(try_, list(words))


def refused(*words: str) -> str:
    """What is said of a command line that is refused before anything is written."""
    done = asked(*words)
    assert isinstance(done.exception, DynoError), done.output
    assert not list(Path.cwd().glob("runs/*"))
    assert done.exception.fix
    return str(done.exception)


def test_a_dry_run_prints_an_experiment_and_writes_nothing() -> None:
    done = asked("SELECT 1", "--dry-run", "--sessions", "1,4", "--time", "30s")
    assert done.exit_code == 0, done.output
    loaded = load(done.stdout)
    assert [cell.levels for cell in loaded.cells] == [{"sessions": "1"}, {"sessions": "4"}]
    assert loaded.budget_s == 30
    assert not list(Path.cwd().iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("SELECT 1", "--on", "postgress"), "did you mean `postgres`?"),
        (("SELECT 1", "--on", "mariadb="), "no version follows"),
        (("SELECT 1", "--on", "mysql://app:secret@h/x"), "the URL contains a password"),
        (("oltpp",), "did you mean `oltp`?"),
        (("oltp=fast",), "oltp has no preset `fast`"),
        (("oltp", "kv"), "different transactions"),
        (("oltp", "SELECT 1"), "the rest are statements"),
        (("there.sql",), "cannot be read"),
        (("/* nothing */ ;", "SELECT 1"), "holds no statement"),
        (("SELECT :id",), "--param id=1..10000"),
        (("SELECT :id", "--param", "id=9..1"), "no range of a parameter"),
        (("SELECT 1", "--param", "id=1..9"), "no statement names `:id`"),
        (("oltp", "--param", "id=1..9"), "no statement names `:id`"),
        (("DELETE FROM t", "--on", "mysql://app@127.0.0.1"), "names no schema"),
    ],
)
def test_what_cannot_be_tried_is_said_with_a_next_step(words: Any, message: str) -> None:
    assert message in refused(*words)
    assert "secret" not in refused(*words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("kv", "--tables", "3"), "--tables is for oltp"),
        (("SELECT 1", "--rows", "3"), "--rows is for oltp and kv"),
        (("SELECT 1", "--sessions", "1,x"), "must be numbers"),
        (("SELECT 1", "--time", "5"), "must be a duration"),
        (("SELECT 1", "-q", "-v"), "give one of them"),
    ],
)
def test_options_that_mean_nothing_here_are_refused(words: Any, message: str) -> None:
    done = asked(*words)
    assert done.exit_code == 2
    assert message in done.output


def test_existing_data_is_read_only_unless_the_command_line_names_it() -> None:
    url = "mysql://app@127.0.0.1/shop"
    said = asked("DELETE FROM t", "--on", url, "--dry-run")
    assert isinstance(said.exception, DynoError)
    assert "would change `shop`" in str(said.exception)
    assert "data: {existing: shop}" in said.stdout  # what the error points into
    allowed = asked("DELETE FROM t", "--on", url, "--dry-run", "--write-to", "shop")
    assert allowed.exit_code == 0, allowed.output
    assert load(allowed.stdout).cells[0].targets[0].may.write
    reading = asked("SELECT * FROM t", "--on", url, "--dry-run")
    assert reading.exit_code == 0, reading.output
    target = load(reading.stdout).cells[0].targets[0]
    assert target.existing == "shop"
    assert not target.may.write


def test_what_belongs_to_a_login_is_of_the_targets_with_a_url() -> None:
    url = ("--on", "mysql://app@db1/shop", "--on", "mysql://app@db2/shop")
    login = ("--password-file", "secret", "--tls", "ca:ca.pem", "--cleartext-password")
    done = asked("SELECT 1", *url, *login, "--dry-run")
    assert done.exit_code == 0, done.output
    for cell in load(done.stdout).cells:
        target = cell.targets[0]
        assert target.credentials.file == str(Path("secret").absolute())
        assert target.credentials.cleartext
        assert target.tls == f"ca:{Path('ca.pem').absolute()}"
    alone = asked("SELECT 1", "--on", "mariadb", "--password-env", "X", "--dry-run")
    assert "--on URL" in alone.output
    two = asked("SELECT 1", *url, "--password-env", "X", "--password-file", "y", "--dry-run")
    assert "one source" in two.output


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    done = asked("SELECT 1", "--on", "mysql://app:s3cret@db1/shop", "--dry-run")
    assert isinstance(done.exception, DynoError)
    assert "contains a password" in done.exception.what
    assert "--password-env" in done.exception.fix
    assert "s3cret" not in f"{done.output}{done.exception}"


def test_a_command_that_prints_a_password_is_kept_in_no_command_line() -> None:
    typed = ["try", "SELECT 1", "--password-command", "echo s3cret", "--password-command=x s3cret"]
    assert login.without_commands(typed) == [
        *typed[:3],
        "***",
        "--password-command=***",
    ]
    assert login.without_commands(["--password-command"]) == ["--password-command"]


@pytest.mark.parametrize(
    ("what", "kind"), [("SELECT 1", "sqlite"), ("kv", "sqlite"), ("io", "files")]
)
def test_without_a_server_it_is_tried_on_what_needs_none(what: str, kind: str) -> None:
    done = asked(what, "--dry-run")
    assert done.exit_code == 0, done.output
    assert load(done.stdout).cells[0].targets[0].kind == kind


def test_an_error_in_the_experiment_leaves_it_to_be_corrected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dbdyno.cli.trying.tried.job.find", lambda: Path("dyno-engine"))
    done = asked("SELECT 1", "--on", "mysql://app@127.0.0.1", "--dir", "mine", "--write-to", "shop")
    assert isinstance(done.exception, DynoError)
    assert "--write-to shop" in str(done.exception)
    assert Path("mine.yaml").is_file()
    again = asked("SELECT 1", "--dir", "mine")
    assert "already exists" in str(again.exception)


@pytest.mark.parametrize(
    ("text", "statements", "atomic"),
    [
        ("SELECT 1", ["SELECT 1"], None),
        ("/* one */ SELECT 1;\n", ["/* one */ SELECT 1"], None),
        ("SELECT ';'; SELECT 2", ["SELECT ';'", "SELECT 2"], False),
        ("BEGIN; SELECT 1; COMMIT", ["SELECT 1"], True),
        ("start transaction; SELECT 1; SELECT 2; commit;", ["SELECT 1", "SELECT 2"], True),
    ],
)
def test_a_file_is_a_transaction_if_it_says_so(
    text: str, statements: list[str], atomic: bool | None
) -> None:
    Path("A file.sql").write_text(text)
    (variant,) = sent.read(["A file.sql"]).variants
    assert variant.level == "a_file"
    if atomic is None:
        assert variant.options == {"statements": {"a_file": {"sql": statements[0]}}}
        return
    steps = [{"sql": each} for each in statements]
    assert variant.options == {"transactions": {"a_file": {"atomic": atomic, "steps": steps}}}


def test_each_variant_has_a_name_of_its_own() -> None:
    words = ["SELECT a FROM b", "-- why\nSELECT a  FROM b", "1 row", "values (1)"]
    names = [one.level for one in sent.read(words).variants]
    assert names == ["select_a_from_b", "select_a_from_b_2", "q_1_row", "values_1"]
    two = servers.read(["mysql://a@h/s", "mysql://b@h/s", "mariadb", "mariadb"])
    assert [one.level for one in two] == ["h:3306/s", "h:3306/s (2)", "mariadb"]


@pytest.mark.parametrize(
    ("on", "isolation"),
    [
        (["mariadb", "mysql"], "repeatable_read"),
        (["postgres"], "read_committed"),
        (["mariadb", "postgres"], "read_committed"),
        (["sqlite", "mariadb"], "serializable"),
        (["redis"], ""),
        (["mysql://a@h/s"], ""),
    ],
)
def test_all_servers_promise_the_same(on: list[str], isolation: str) -> None:
    assert servers.isolation(servers.read(on)) == isolation


def test_trials_fill_the_time_and_blocks_give_way_first() -> None:
    plan = make_plan({"sessions": ("1", "2", "4")}, kind="sqlite")
    long, short, least = (timing.choose(plan, total, None) for total in (300.0, 40.0, 5.0))
    assert (long.blocks, long.warmup_s + long.duration_s, long.fits) == (6, timing.MOST_S, True)
    assert short.fits and short.total_s <= 40
    assert short.blocks == 6
    assert least.blocks == 3 and not least.fits
    assert least.total_s > 5
    assert timing.choose(plan, 100.0, 2).blocks == 2
    between_s = estimate.block_s(plan.cells, lambda cell: 0.0)
    tight = timing.choose(plan, 4 * (between_s + 3 * timing.LEAST_S) + 0.5, None)
    assert tight.blocks == 4 and tight.fits


@pytest.mark.parametrize(
    ("metric", "interval", "said"),
    [
        ("transactions_per_s", (1.1, 1.3), "faster"),
        ("transactions_per_s", (0.8, 0.9), "slower"),
        ("service_ms_p95", (1.1, 1.3), "higher"),
        ("service_ms_p95", (0.8, 0.9), "lower"),
        ("transactions_per_s", (0.9, 1.1), "undecided"),
        ("transactions_per_s", (0.99, 1.02), "no difference that matters"),
        ("transactions_per_s", (1.01, 1.02), "no difference that matters"),
        ("transactions_per_s", (None, None), "not judged"),
    ],
)
def test_a_ratio_has_a_verdict_in_words(metric: str, interval: Any, said: str) -> None:
    low, high = interval
    assert verdict(metric, Ratio(1.0, low, high, 0.95, 6, None), 0.03) == said
