"""`dyno digest --trace`: what the engine is asked, the report on the trace, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_cli_digest import Engine, engine, log, run

from fixtures import parallelism, traces

__all__ = ["engine", "log"]  # fixtures


def said(**more: Any) -> dict[str, Any]:
    """The engine's event."""
    inputs = parallelism.published()["inputs"]
    counts = {"classes": 4, "origins": 1, "inputs": inputs, "censored": []}
    return {"event": "trace", "trace": {**traces.META, **counts, **more}}


def test_a_log_becomes_a_trace(engine: Engine, log: Path) -> None:
    engine.says([said()])
    file = log.with_name("out.trace")
    done = run(log, "--trace", file, "--user", "app")
    assert done.exit_code == 0, done.exception
    assert "100 statements of 9 sessions" in done.output and "literals" in done.output
    assert engine.told()[0] == ["digest", "--user=app", f"--trace={file}", "--", str(log)]


def test_a_log_that_leaves_statements_out_is_refused_unless_accepted(
    engine: Engine, log: Path
) -> None:
    limit = {"input": 0, "kind": "threshold", "value": 0.1, "evidence": "seen"}
    engine.says([said(censored=[limit])])
    file = log.with_name("out.trace")
    file.write_text("what the engine wrote")
    refused = run(log, "--trace", file)
    assert "--accept-censored" in str(refused.exception) and not file.exists()
    assert run(log, "--trace", file, "--accept-censored").exit_code == 0


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--format", "html"], "--format"),
        (["--follow"], "--follow"),
        (["--limit", "5"], "--limit"),
        (["--parallelism"], "at a time"),
        (["--workload", "w.yaml"], "at a time"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    engine: Engine, log: Path, options: list[str], word: str
) -> None:
    refused = run(log, "--trace", log.with_name("out.trace"), *options)
    assert word in str(refused.exception), refused.output
    assert not (log.parent / "told").exists()


def test_it_takes_logs_alone(engine: Engine, log: Path) -> None:
    file = log.with_name("out.trace")
    assert "needs logs" in str(run("mysql://app@db/shop", "--trace", file).exception)
    saved = log.with_name("saved.json")
    assert run(log, "--json", "--out", saved).exit_code == 0
    assert "saved digest" in str(run(saved, "--trace", file).exception)
