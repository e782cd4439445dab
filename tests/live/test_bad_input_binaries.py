"""Programs that are missing, ports that are taken, settings that a server does not keep."""

from __future__ import annotations

import socket

import pytest
from private_servers import binaries
from refusals import plain_words, refused
from running import Place, result

pytestmark = pytest.mark.live

GOOD = """\
experiment: one
targets:
  db: {kind: sqlite}
workload: {kind: oltp, preset: point_select, tables: 1, rows: 100}
blocks: 1
warmup: 0s
duration: 200ms
interval: 100ms
"""


def with_target(target: str) -> str:
    return GOOD.replace("{kind: sqlite}", target)


@pytest.mark.parametrize("kind", ["mariadb", "postgres", "mysql"])
def test_a_missing_program_is_an_error_with_the_command_that_installs_it(
    there: Place, kind: str
) -> None:
    file = there.experiment(with_target(f"{{kind: {kind}, basedir: /nonexistent}}"))
    refused(
        there.dyno("run", file, "--dir", "out"),
        f"{file}:3:3: target `db` ({kind}) cannot be used here",
        "/nonexistent",
        "make servers",
        "optional: true",
    )
    assert not (there.path / "out").exists()


@pytest.mark.parametrize("kind", ["mariadb", "postgres", "mysql", "sqlite"])
def test_a_version_that_is_missing_is_an_error_with_those_that_are_there(
    there: Place, kind: str
) -> None:
    here = binaries(kind).version
    file = there.experiment(with_target(f'{{kind: {kind}, version: "99.1"}}'))
    refused(
        there.dyno("run", file, "--dry-run"),
        f"{file}:3:3: target `db` ({kind}) cannot be used here: no {kind} 99.1 found: there is",
        here,
        "optional: true",
    )


def test_a_missing_optional_system_is_left_out_visibly(there: Place) -> None:
    text = with_target("{kind: sqlite}").replace(
        "blocks: 1",
        "factors:\n  engine:\n    lite: {db.kind: sqlite}\n"
        "    maria: {db: {kind: mariadb, basedir: /nonexistent, optional: true}}\n"
        'claims: ["tps[lite] > tps[maria]"]\nblocks: 1',
    )
    done = there.dyno("run", there.experiment(text), "--dir", "out")
    assert done.returncode == 0, done.stderr
    plain_words(done.stderr)
    assert "skipped: engine=maria" in done.stderr
    assert "/nonexistent" in done.stderr
    found = result(there.path / "out")
    assert [cell["levels"]["engine"] for cell in found["cells"]] == ["lite"]
    assert found["skipped"][0]["what"] == "engine=maria"
    assert found["skipped"][0]["fix"]
    assert found["claims"][0]["verdict"] == "not tested here"
    for report in ("report.md", "report.html"):
        assert "/nonexistent" in (there.path / "out" / report).read_text()


def test_nothing_left_is_an_error(there: Place) -> None:
    file = there.experiment(with_target("{kind: mysql, basedir: /nonexistent, optional: true}"))
    refused(there.dyno("run", file, "--dry-run"), "no cell can run here", "/nonexistent")


@pytest.mark.parametrize(
    ("engine", "word"),
    [("/nonexistent", "No such file"), ("/bin/true", "dyno-engine"), ("/etc/passwd", "denied")],
)
def test_another_program_is_not_taken_for_the_engine(there: Place, engine: str, word: str) -> None:
    there.environment["DYNO_ENGINE"] = engine
    file = there.experiment(GOOD)
    refused(there.dyno("run", file, "--dir", "out"), engine, word, "make setup", "DYNO_ENGINE")
    assert not (there.path / "out").exists()


@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
def test_a_port_in_use_is_an_error_and_its_user_goes_on(there: Place, kind: str) -> None:
    binaries(kind)
    with socket.create_server(("127.0.0.1", 0)) as user:
        port = user.getsockname()[1]
        file = there.experiment(with_target(f"{{kind: {kind}, config: {{port: {port}}}}}"))
        said = refused(
            there.dyno("run", file, "--dir", "out"), f"127.0.0.1:{port}", "in use", "leave `port`"
        )
        assert f"{file}:3:" in said
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass
    assert there.until_clean() == []


def test_a_port_that_is_none_is_refused_early(there: Place) -> None:
    file = there.experiment(with_target("{kind: postgres, config: {port: 99999}}"))
    refused(there.dyno("run", file, "--check"), f"{file}:3:33", "`port: 99999`", "1 to 65535")


SETTINGS = {
    # kind, config: words of the message
    ("mariadb", "inodb_flush_method: O_DIRECT"): ["does not know", "`inodb_flush_method`"],
    ("mariadb", "innodb_buffer_pool_size: 100000001"): ["the server uses", "rounded"],
    ("mariadb", "innodb_flush_method: O_DIRECTT"): ["`O_DIRECTT` is not allowed"],
    ("postgres", "shared_bufers: 64MB"): ["does not know", "`shared_bufers`"],
    ("postgres", "shared_buffers: 64Mi"): ["`64Mi` is not allowed", "kB, MB, GB"],
    ("postgres", "random_page_cost: -5"): ["`random_page_cost` allows (0 .. ", "not -5"],
}


@pytest.mark.parametrize(("kind", "config"), SETTINGS)
def test_a_setting_that_the_server_does_not_keep_is_an_error_with_its_place(
    there: Place, kind: str, config: str
) -> None:
    binaries(kind)
    target = f"{{kind: {kind}, config: {{{config}}}}}"
    file = there.experiment(with_target(target))
    column = len("  db: ") + target.index(config) + 1
    refused(
        there.dyno("run", file, "--dir", "out"),
        f"{file}:3:{column}: ",
        "likely cause",
        "next step",
        *SETTINGS[kind, config],
    )
    assert there.until_clean() == []


@pytest.mark.parametrize(("kind", "own"), [("mariadb", "datadir"), ("postgres", "hba_file")])
def test_settings_that_make_a_server_private_cannot_be_set(
    there: Place, kind: str, own: str
) -> None:
    file = there.experiment(with_target(f"{{kind: {kind}, config: {{{own}: /tmp}}}}"))
    refused(there.dyno("run", file, "--check"), f"{file}:3:", f"`{own}` cannot be set", "remove")
