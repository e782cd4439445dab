"""`dyno digest` as a command, before an engine that says what the test wants it to."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dbdyno import __version__
from dbdyno.cli.main import dyno
from dbdyno.errors import DynoError
from fixtures import digests, parallelism, shapes

ENGINE = """#!{python}
import json, sys
if sys.argv[1:] == ["--version"]:
    print("dyno-engine {version}")
    sys.exit()
open({told!r}, "a").write(json.dumps(sys.argv[1:]) + "\\n")
for line in open({says!r}):
    print(line, end="", flush=True)
print("half a li", end="")
sys.exit({code})
"""


class Engine:
    """A program in the engine's place."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = path
        self.says([{"event": "progress", "bytes": 5, "bytes_total": None}, done(digests.shop())])
        monkeypatch.setenv("DYNO_ENGINE", str(path / "engine"))

    def says(self, events: list[dict[str, Any]], code: int = 0) -> None:
        said = self._path / "says"
        said.write_text("".join(json.dumps(event) + "\n" for event in events))
        program = self._path / "engine"
        program.write_text(
            ENGINE.format(
                python=sys.executable,
                version=__version__,
                told=str(self._path / "told"),
                says=str(said),
                code=code,
            )
        )
        program.chmod(0o755)

    def told(self) -> list[list[str]]:
        return [json.loads(line) for line in (self._path / "told").read_text().splitlines()]


def done(document: dict[str, Any]) -> dict[str, Any]:
    return {"event": "digest", "document": document}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setenv("COLUMNS", "110")
    return Engine(tmp_path, monkeypatch)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "slow.log"
    path.write_text("# Time: 240101 10:00:00\n")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(dyno, ["digest", *map(str, arguments)], standalone_mode=False)


def test_options_are_passed_through(engine: Engine, log: Path) -> None:
    found = run(
        *("--log-format", "mysql-slow", "--where", "query_time > 1", "--strict", "--merge-names"),
        *("--port", "3306", "--port", "3307", "--group-by", "db", log, "-"),
    )
    assert found.exit_code == 0 and found.output.startswith("1,900 statements of 4 classes")
    (told,) = engine.told()
    assert told[0] == "digest" and told[-3:] == ["--", str(log), "-"]
    assert set(told[1:-3]) == {
        *("--log-format=mysql-slow", "--where=query_time > 1", "--strict", "--merge-names"),
        *("--port=3306", "--port=3307", "--group-by=db"),
    }


def test_a_time_before_now_is_a_moment_for_the_engine(
    engine: Engine, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbdyno.cli.logs.digest.time.time", lambda: 1_800_000_000.0)
    assert run(log, "--since", "-2h", "--until", "-30m").exit_code == 0
    (told,) = engine.told()
    assert told[1:3] == ["--since=1799992800.000", "--until=1799998200.000"]
    assert "no moment" in str(run(log, "--since", "2h").exception)


def test_brief_is_the_profile_alone(engine: Engine, log: Path) -> None:
    for form, section in (("text", "1. UPDATE stock"), ("pt", "# Query 1"), ("markdown", "## 1.")):
        full, brief = (run(log, "--format", form, *more).output for more in ((), ("--brief",)))
        assert section in full and section not in brief and "UPDATE stock" in brief
    for more in (["--json"], ["--format", "html"], ["--compare", log], ["--workload", "x.yaml"]):
        refused = run(log, "--brief", *more).exception
        assert refused is not None and "--brief is for" in str(refused), more


def test_a_url_of_no_server_is_told_which_there_are(engine: Engine) -> None:
    error = run("foo://x").exception
    assert isinstance(error, DynoError) and str(error).startswith("foo://x: no kind of server")
    assert "mysql://" in error.fix and "postgres://" in error.fix
    secret = run("foo://app:secret@x").exception
    assert "secret" not in str(secret) and "foo://..." in str(secret)


@pytest.mark.parametrize("form", ["text", "pt", "json", "markdown", "html"])
def test_a_saved_document_is_drawn_like_its_log(engine: Engine, log: Path, form: str) -> None:
    saved = log.with_name("saved.json")
    assert run(log, "--json", "--out", saved).exit_code == 0
    first, again = (run(source, "--format", form).output for source in (log, saved))
    assert first == again
    assert len(engine.told()) == 2  # the document needs no engine
    assert run(saved, "--limit", "3").exception is not None


def test_what_parallel_replication_could_bring(engine: Engine, log: Path) -> None:
    engine.says([{"event": "parallelism", "parallelism": parallelism.published()}])
    said = run(log, "--parallelism", "--since", "5").output
    assert said.startswith("With 4 workers by schema at most 1.92x")
    assert engine.told()[0] == ["digest", "--since=5", "--parallelism", "--", str(log)]
    saved = log.with_name("saved.json")
    assert run(log, "--parallelism", "--json", "--out", saved).exit_code == 0
    for arguments in ([saved], [saved, "--parallelism"]):
        assert run(*arguments).output == said
    for form in ("markdown", "html"):
        assert "1.92x" in run(saved, "--format", form).output
    assert "no `pt` layout" in str(run(saved, "--format", "pt").exception)


def test_a_log_that_leaves_statements_out_is_refused_unless_accepted(
    engine: Engine, log: Path
) -> None:
    limit = {"input": 0, "kind": "threshold", "value": 0.1, "evidence": "seen"}
    raw = parallelism.published() | {"censored": [limit]}
    engine.says([{"event": "parallelism", "parallelism": raw}])
    refused = run(log, "--parallelism").exception
    assert isinstance(refused, DynoError) and refused.exit_code == 2
    assert "slower than 0.1 s" in str(refused) and "--accept-censored" in str(refused)
    taken = run(log, "--parallelism", "--accept-censored").output.splitlines()
    assert "1.92x" in taken[0] and taken[1].startswith("Only statements slower than 100 ms")


def test_a_log_becomes_an_experiment(engine: Engine, log: Path) -> None:
    made = shapes.shop()
    shape = {"event": "shape", "shape": made.shape()}
    engine.says([done(made.document()), shape])
    file = log.with_name("out.yaml")
    assert run(log, "--workload", file, "--user", "app").exit_code == 0
    assert "kind: mix" in file.read_text()
    assert engine.told() == [
        ["digest", "--user=app", "--limit=all", "--", str(log)],
        ["digest", "--user=app", "--shape", "--", str(log)],
    ]
    file.unlink()
    made.censored = [{"input": 0, "kind": "sampled", "value": 10, "evidence": "said"}]
    engine.says([done(made.document()), shape])
    refused = run(log, "--workload", file).exception
    assert isinstance(refused, DynoError) and refused.exit_code == 2 and not file.exists()
    assert "--accept-censored" in str(refused)
    assert run(log, "--workload", file, "--accept-censored").exit_code == 0 and file.exists()
    saved = log.with_name("saved.json")
    saved.write_text(json.dumps(made.document()))
    for wrong, words in (
        ([saved], "saved digest"),
        (["-"], "not pipes"),
        (["mysql://app@127.0.0.1/"], "needs logs"),
        ([log, "--limit", "3"], "does not go with --limit"),
        ([log, "--json"], "no --format"),
        ([log, "--parallelism"], "at a time"),
    ):
        assert words in str(run(*wrong, "--workload", file).exception)
    assert "--accept-censored is for" in str(run(log, "--accept-censored").exception)


def test_exit_codes_and_documents_of_a_followed_log(engine: Engine, log: Path) -> None:
    both = [done(digests.empty()), done(digests.shop())]
    engine.says(both, code=1)
    strict = run(log, "--strict")
    assert strict.return_value == 1
    engine.says(both, code=3)
    assert run(log).return_value == 3
    followed = run(log, "--follow", "--every", "30s")
    assert followed.return_value == 0
    assert followed.output.index("No statement") < followed.output.index("1,900 statements")
    assert "--every=30" in engine.told()[-1]


def test_failures_are_told_as_the_engine_tells_them(engine: Engine, log: Path) -> None:
    engine.says([{"event": "failed", "what": "a.log: no format fits", "hint": "name it"}], code=2)
    failed = run(log).exception
    assert isinstance(failed, DynoError)
    assert "no format fits" in str(failed) and "name it" in str(failed)
    engine.says([], code=9)
    assert "without a document" in str(run(log).exception)


def test_a_log_that_is_not_there_is_an_error_at_once(engine: Engine, tmp_path: Path) -> None:
    missing = tmp_path / "missing.log"
    for arguments in ([missing], ["--compare", missing, missing]):
        failed = run(*arguments).exception
        assert isinstance(failed, DynoError) and "missing.log" in str(failed)
    assert not (tmp_path / "told").exists()


def test_two_are_compared(engine: Engine, log: Path) -> None:
    saved = log.with_name("after.json")
    saved.write_text(json.dumps(digests.shop(1.5)))
    found = run("--compare", log, saved)
    assert found.output.startswith("1 class slower a call")
    assert engine.told()[0][1:-2] == ["--limit=all"]
    as_json = json.loads(run("--compare", log, saved, "--json").output)
    assert as_json["changes"][0]["verdict"] == "slower"
    for form in ("markdown", "html"):
        assert "1 class slower" in run("--compare", log, saved, "--format", form).output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name a log"),
        (("--compare", "a"), "takes two"),
        (("--compare", "--format", "pt", "a", "b"), "no `pt`"),
        (("mysql://db/", "a.log"), "not together"),
        (("--for", "5m", "LOG"), "--for is for a server's URL"),
        (("mysql://db/", "--since", "1", "--log-format", "x"), "--since"),
        (("mysql://u:secret@db/",), "contains a password"),
        (("--parallelism", "mysql://db/"), "made from logs"),
        (("--parallelism", "--format", "pt", "LOG"), "no `pt`"),
        (("--parallelism", "--group-by", "db", "LOG"), "does not go with --group-by"),
        (("--workload", "x.yaml", "--merge-names", "LOG"), "does not go with --merge-names"),
        (("mysql://db/", "--merge-names"), "--merge-names is for logs"),
        (("--parallelism", "--compare", "LOG", "LOG"), "at a time"),
        (("--accept-censored", "LOG"), "--accept-censored is for"),
        (("postgres://u@db/x", "--for", "soon"), "--for soon"),
        (("postgres://u@db/x", "--password-env", "A", "--password-file", "B"), "one source"),
    ],
)
def test_wrong_command_lines(
    engine: Engine, log: Path, arguments: tuple[str, ...], words: str
) -> None:
    del engine
    failed = run(*(str(log) if one == "LOG" else one for one in arguments)).exception
    assert failed is not None
    message = getattr(failed, "message", "") or str(failed)
    assert words in message and "secret" not in message


def test_an_unwritable_place_is_an_error(engine: Engine, log: Path) -> None:
    del engine
    failed = run(log, "--out", log.parent / "not" / "there.html").exception
    assert isinstance(failed, DynoError) and "cannot write" in str(failed)
