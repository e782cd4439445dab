"""`dyno model` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import click
from click.testing import CliRunner, Result

from dbdyno import models
from dbdyno.cli.main import dyno
from fixtures.schemas import valid

COST = ["cost", "price=2035.49 USD/month", "rate=415000/s"]


def model(*arguments: str) -> Result:
    return CliRunner().invoke(dyno, ["model", *arguments], standalone_mode=False)


def test_all_models_are_listed_with_their_questions() -> None:
    said = model().output
    for name in models.names():
        assert name in said
    listed = json.loads(model("--json").output)
    assert [one["name"] for one in listed] == models.names()


def test_a_model_that_needs_inputs_says_which() -> None:
    assert "price        price     required" in model("cost").output
    assert model("cost").output == model("cost", "--about").output


def test_an_answer_as_a_sentence_a_table_and_json() -> None:
    said = model(*COST, "--explain", "--sensitivity").output
    assert said.startswith("A billion transactions cost 1.892 USD at 415,000/s.\n")
    assert "per_month = usable * utilization * month" in said
    assert "for 1 % more" in said
    told = valid("model", json.loads(model(*COST, "--json").output))
    assert told["outputs"]["per_billion"]["shown"] == "1.892 USD"
    assert told["inputs"]["utilization"]["origin"] == "default"
    assert told["outputs"]["fleet_per_billion"]["value"] is None


def test_a_sweep_in_the_terminal_as_json_and_as_a_page(tmp_path: Path) -> None:
    over = ["--sweep", "load=1/s..1000000/s"]
    assert "load (by factors)" in model(*COST, *over).output
    whole = json.loads(model(*COST, *over, "--points", "10000", "--sensitivity", "--json").output)
    told = valid("model", whole)["sweep"]
    assert len(told["values"]) == len(told["outputs"]["machines"]) == 10_000
    page = tmp_path / "cost.html"
    assert model(*COST, *over, "--format", "html", "--out", str(page)).exit_code == 0
    assert "<svg" in page.read_text()


def test_whoever_asks_for_more_than_the_model_is_told_what_is_missing(tmp_path: Path) -> None:
    for more in (["--json"], ["--explain"], ["--format", "html", "--out", str(tmp_path / "x")]):
        assert "needs `price`" in str(model("cost", *more).exception)
    assert isinstance(model("cost", "--about", "--json").exception, click.UsageError)
    assert "is a list" in str(model("cost", "--sweep", "rate=1/s..5/s").exception)


def test_a_swept_input_need_not_be_given() -> None:
    assert "rows (by factors)" in model("innodb-growth", "--sweep", "rows=100..1M").output
    assert model("cost", "rate=5/s", "--sweep", "price=1/month..9/month").exit_code == 0


def test_options_that_do_not_fit_together_are_refused() -> None:
    for wrong in (["--points", "5"], ["--tls", "off"]):
        assert model(*COST, *wrong).exception is not None
    error = model("--sweep", "x=1..2").exception
    assert isinstance(error, click.UsageError)
    assert "--sweep needs the name of a model" in error.message
    assert "no model" in str(model("nothing").exception)
    assert "points" in str(model(*COST, "--sweep", "load=1/s..2/s", "--points", "1").exception)


def test_inputs_of_a_manifest_are_read_and_typed_ones_go_first(tmp_path: Path) -> None:
    manifest = tmp_path / "cr.yaml"
    manifest.write_text(
        "apiVersion: psmdb.percona.com/v1\nspec:\n  replsets:\n  - name: rs0\n"
        "    resources: {limits: {memory: 3G, cpu: 600m}}\n"
        "    storage: {wiredTiger: {engineConfig: {cacheSizeRatio: 0.8}}}\n"
    )
    said = model("wiredtiger-cache", "--from", str(manifest)).output
    assert said.startswith("mongod gets 1,474 MB of cache (--wiredTigerCacheSizeGB=1.44)")
    assert "spec.replsets.0.resources.limits.memory" in said
    said = model("wiredtiger-cache", "--from", str(manifest), "limit=3Gi").output
    assert said.startswith("mongod gets 1,638 MB of cache")


def test_an_option_file_s_durability_counts(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_text("[mysqld]\nsync_binlog=100\ninnodb_flush_log_at_trx_commit=1\n")
    said = model("commit-ceiling", "fsyncs=100/s", "--from", str(file)).output
    assert said.startswith("One session commits at most 99.01/s")


def test_redis_conf_has_units_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "redis.conf"
    file.write_text(
        "# Redis\nbind 127.0.0.1 -::1\nappendonly yes\nappendfsync always\n"
        "auto-aof-rewrite-percentage 50\nauto-aof-rewrite-min-size 1gb\n"
    )
    asked = ["redis-restart", "memory=100Mi", "method=aof", "--from", str(file), "--json"]
    told = json.loads(model(*asked).output)
    assert told["inputs"]["rewrite_min"]["value"] == 2**30
    assert told["inputs"]["rewrite_percentage"]["value"] == 0.5
    assert told["outputs"]["loss"]["value"] == 0


def test_mongod_conf_is_yaml(tmp_path: Path) -> None:
    file = tmp_path / "mongod.conf"
    file.write_text("setParameter:\n  ttlMonitorSleepSecs: 120\n")
    told = json.loads(model("retention", "rate=10/s", "--from", str(file), "--json").output)
    assert told["inputs"]["pass_every"]["value"] == 120
    file.write_text("setParameter: [\n")
    assert "no YAML" in str(model("retention", "rate=10/s", "--from", str(file)).exception)


def test_two_forms_at_once_are_refused() -> None:
    assert "contradict" in str(model("upload", "--json", "--format", "html").exception)
    assert model("upload", "--json").output == model("upload", "--json", "--format", "json").output
