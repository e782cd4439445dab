"""`dyno try` from a line to an answer, and the experiment that it leaves run again."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import servers_there
from running import Place, complete_trials, place, result

SCHEMA = """
CREATE TABLE users (id INTEGER PRIMARY KEY, name VARCHAR(32));
INSERT INTO users VALUES (1, 'ann'), (2, 'bob'), (3, 'eve');
"""

pytestmark = pytest.mark.live


@pytest.fixture
def there() -> Iterator[Place]:
    with place() as made:
        yield made


def test_two_files_of_sql_are_compared_and_their_experiment_runs_again(there: Place) -> None:
    (there.path / "schema.sql").write_text(SCHEMA)
    (there.path / "by_id.sql").write_text("SELECT name FROM users WHERE id = :id;\n")
    (there.path / "rename.sql").write_text(
        "BEGIN;\nUPDATE users SET name = 'x' WHERE id = 1;\nSELECT count(*) FROM users;\nCOMMIT;\n"
    )
    words = ("by_id.sql", "rename.sql", "--setup", "schema.sql", "--param", "id=1..3")
    done = there.dyno("try", *words, "--time", "12s", "--dir", "out")
    assert done.returncode == 0, done.stderr
    assert "experiment: out.yaml\n" in done.stderr
    assert "trial 1/6, block 1: statement=" in done.stderr
    assert "statement by_id" in done.stdout and "statement rename" in done.stdout
    assert "Against statement by_id, within blocks" in done.stdout
    assert any(word in done.stdout for word in ("slower", "faster", "undecided", "no difference"))
    assert done.stdout.rstrip().endswith("out/report.html")
    assert (there.path / "out" / "report.html").is_file()
    found = result(there.path / "out")
    assert found["experiment"] == "try-sql"
    again = there.dyno("run", "out.yaml", "--dir", "again", "--quick", "-q")
    assert again.returncode == 0, again.stderr
    assert again.stderr == ""
    assert len(complete_trials(there.path / "again")) == 2
    assert there.until_clean() == []


def test_two_versions_of_mariadb_answer_one_statement(there: Place) -> None:
    versions = ("--on", "mariadb=10.11", "--on", "mariadb=11.8")
    done = there.dyno("try", "SELECT 1", *versions, "--time", "15s", "--blocks", "2", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [cell["levels"]["server"] for cell in found["cells"]] == [
        "mariadb-10.11",
        "mariadb-11.8",
    ]
    runs = [each for each in (there.path / "runs").iterdir() if each.is_dir()]
    assert len(runs) == 1
    assert (there.path / "runs" / f"{runs[0].name}.yaml").is_file()
    seen = (runs[0] / "manifest.json").read_text()
    assert "10.11." in seen and "11.8." in seen
    assert len(complete_trials(runs[0])) >= 2  # a slow machine leaves time for fewer blocks
    assert there.until_clean() == []


def test_a_workload_is_tried_at_several_numbers_of_sessions(there: Place) -> None:
    words = ("oltp=point_select", "--on", "mariadb", "--sessions", "1,2", "--rows", "100")
    done = there.dyno("try", *words, "--time", "30s", "--blocks", "3", "-q", "--dir", "out")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "experiment: out.yaml\n"
    assert "Against 1 session, within blocks" in done.stdout
    assert there.until_clean() == []


@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
def test_existing_data_is_read_and_written_only_if_named_again(kind: str, there: Place) -> None:
    counting = "SELECT count(*) FROM " + ("shop.sbtest1" if kind == "mariadb" else "sbtest1")
    with servers_there.there(kind) as server:
        server.grant(*server.read_only())
        give_password(there)
        schemas = server.schemas()
        words = ("--on", server.url, "--time", "6s", "--blocks", "1", "--dir")
        done = there.dyno("try", "SELECT count(*) FROM sbtest1", *words, "out")
        assert done.returncode == 0, done.stderr
        assert "data: {existing: shop}" in (there.path / "out.yaml").read_text()
        assert len(complete_trials(there.path / "out")) == 1
        refused = there.dyno("try", "DELETE FROM sbtest1", *words, "no")
        assert refused.returncode == 2
        assert "would change `shop`, which exists already" in refused.stderr
        assert not (there.path / "no").exists()
        assert server.sql(counting) == [(servers_there.ROWS,)]
        assert server.schemas() == schemas


SOURCES = {
    "--password-env": ("TRY_PASSWORD", {"TRY_PASSWORD": servers_there.PASSWORD}),
    "--password-command": (f"printf %s {servers_there.PASSWORD}", {}),
    "--password-file": ("secret", {}),
    "the user's settings": ("", {"TRY_PASSWORD": servers_there.PASSWORD}),
}


@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
@pytest.mark.parametrize("source", SOURCES)
def test_a_password_comes_from_where_run_takes_it_and_is_kept_nowhere(
    source: str, kind: str, there: Place
) -> None:
    value, variables = SOURCES[source]
    there.environment |= {"HOME": str(there.path), "PGPASSFILE": "/nowhere", **variables}
    secret = there.path / "secret"
    secret.write_text(servers_there.PASSWORD)
    secret.chmod(0o600)
    words = [source, value]
    if not value:
        config = there.path / ".config" / "dbdyno" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('[passwords."app@127.0.0.1"]\nenv = "TRY_PASSWORD"\n')
        config.chmod(0o600)
        words = []
    with servers_there.there(kind) as server:
        server.grant(*server.read_only())
        url = ("--on", server.url, "--time", "6s", "--blocks", "1", "--dir", "out", "-q")
        done = there.dyno("try", "SELECT count(*) FROM sbtest1", *url, *words)
        assert done.returncode == 0, done.stderr
    kept = [path for path in (there.path / "out").rglob("*") if path.is_file()]
    holding = [path.name for path in kept if servers_there.PASSWORD.encode() in path.read_bytes()]
    assert holding == []
    # The experiment of a user who typed a command holds that command, once, and in no comment.
    times = (there.path / "out.yaml").read_text().count(servers_there.PASSWORD)
    assert times == (1 if source == "--password-command" else 0)


def test_a_wrong_statement_is_told_with_its_line(there: Place) -> None:
    done = there.dyno("try", "SELECT 1", "SELECT 2 FORM t", "--dir", "out")
    assert done.returncode == 2
    lines = (there.path / "out.yaml").read_text().splitlines()
    number, line = next(
        (n, one) for n, one in enumerate(lines, 1) if "sql:" in one and "FORM" in one
    )
    # SQLite names the word that it stumbles over: the one behind what it takes for an alias.
    assert f"out.yaml:{number}:{line.index(' t') + 2}: " in done.stderr, done.stderr
    assert not list((there.path / "out").glob("trials/*"))


def give_password(there: Place) -> None:
    """Puts the password where clients of both families look for it."""
    mysql, postgres = there.path / ".my.cnf", there.path / ".pgpass"
    mysql.write_text(f'[client]\npassword="{servers_there.PASSWORD}"\n')
    escaped = servers_there.PASSWORD.replace(":", "\\:")
    postgres.write_text(f"127.0.0.1:*:*:app:{escaped}\n")
    for file in (mysql, postgres):
        file.chmod(0o600)
    there.environment |= {"HOME": str(there.path), "PGPASSFILE": str(postgres)}
