"""Commands in an experiment file: what may be written, what it means, what is refused, where."""

from __future__ import annotations

import jsonschema
import plans
import pytest
from ruamel.yaml import YAML
from test_experiment_load import ONE, failure, load

from dbdyno.experiment import json_schema
from dbdyno.experiment.types import Hook, Hooks, LevelHooks
from dbdyno.hosts import ssh
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.stored.json import from_json, to_json

HOOKED = (
    ONE
    + """\
hooks:
  before_run: ./prepare
  before_trial: [sync, {run: "iostat -x > io", deadline: 5s}]
  after_run: {run: vmstat, on: "ssh://me@db1:2222"}
factors:
  swappiness:
    low:
      apply: sysctl vm.swappiness=1
      undo: [a, b]
      wait_until: {run: ready, every: 100ms, deadline: 1m}
    usual:
  cache:
    on: {apply: x, db.config: {query_cache_type: 1}}
    off:
"""
)


def test_a_command_is_text_a_mapping_or_a_list_of_both() -> None:
    hooks = load(HOOKED).hooks
    assert hooks.before_run == (Hook("./prepare"),)
    assert hooks.before_trial == (Hook("sync"), Hook("iostat -x > io", None, 5.0))
    assert hooks.after_run == (Hook("vmstat", "ssh://me@db1:2222"),)
    assert (hooks.before_cell, hooks.after_trial) == ((), ())
    assert hooks.levels == {
        "swappiness": {
            "low": LevelHooks(
                apply=(Hook("sysctl vm.swappiness=1"),),
                undo=(Hook("a"), Hook("b")),
                wait_until=(Hook("ready", None, 60.0, 0.1),),
            )
        },
        "cache": {"on": LevelHooks(apply=(Hook("x"),))},
    }


def test_a_level_has_patches_beside_its_commands() -> None:
    on = next(cell for cell in load(HOOKED).cells if cell.levels["cache"] == "on")
    assert on.targets[0].config == {"query_cache_type": 1}


def test_a_factor_with_commands_is_hard_and_survives_a_stored_plan() -> None:
    loaded = load(HOOKED)
    machine = Machine(cores=8, memory_bytes=1 << 34, kernel="6", cpu_model="x")
    plan = make(loaded, machine)
    assert [(factor.name, factor.hard) for factor in plan.factors] == [
        ("swappiness", True),
        ("cache", True),
    ]
    assert from_json(to_json(plan)).hooks == loaded.hooks


def test_no_hooks_are_no_hooks() -> None:
    assert load(ONE).hooks == Hooks()
    assert load(ONE + "hooks:\n").hooks == Hooks()
    assert plans.plan().hooks == Hooks()


def test_the_command_line_can_replace_commands() -> None:
    assert load(HOOKED, "hooks.before_run=other").hooks.before_run == (Hook("other"),)
    assert load(HOOKED, "hooks.before_run=null").hooks.before_run == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hooks: {¶before_runs: x}", "before_run"),
        ("hooks: ¶x", "must be a mapping"),
        ("hooks: {before_run: ¶''}", "before_run"),
        ("hooks: {before_run: ¶7}", "must be text"),
        ("hooks: {before_run: {run: x, ¶at: db1}}", "there is no key `at`"),
        ("hooks: {before_run: {run: x, deadline: ¶5}}", "deadline"),
        ("hooks: {before_run: {run: x, on: ¶db1}}", "ssh://user@db1"),
        ("hooks: {before_run: {run: x, on: '¶ssh://me:secret@db1'}}", "no password"),
        ("hooks: {before_run: {run: x, on: '¶ssh://-oProxyCommand=x'}}", "ssh://user@db1"),
        ("hooks: {before_run: {run: x, on: '¶ssh://db1:99999'}}", "between 1 and 65535"),
        ("hooks: {before_run: [x, ¶{deadline: 5s}]}", "run"),
        ("factors: {s: {low: {¶aply: x}, usual: }}", "apply"),
        ("factors: {s: {low: {apply: {run: ¶[]}}, usual: }}", "must be text"),
        ("factors: {s: {low: {¶undo: x}, usual: }}", "nothing to undo"),
        ("factors: {s: {low: {apply: {run: x, ¶every: 1s}}, usual: }}", "every"),
        ("factors: {s: {low: {apply: x}, ¶same: {apply: x}}}", "changes nothing"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(text: str, said: str) -> None:
    marked = text.replace("'¶", "¶'")
    error = failure(ONE + marked + "\n")
    assert said in f"{error.what} {error.fix}", str(error)
    assert "secret" not in str(error)


def test_two_factors_cannot_be_one_variable() -> None:
    text = ONE + "factors: {a.b: {x: {apply: x}, y: }, ¶a-b: {x: {apply: z}, y: }}\n"
    assert "DYNO_LEVEL_A_B" in failure(text).what


@pytest.mark.parametrize("name", ["apply", "undo", "wait_until"])
def test_nothing_else_is_called_like_a_command_of_a_level(name: str) -> None:
    text = f"experiment: x\ntargets: {{¶{name}: {{kind: sqlite}}}}\nworkload: {{kind: oltp}}\n"
    assert name in failure(text).what


def test_the_schema_for_editors_takes_all_spellings() -> None:
    data = YAML(typ="safe", pure=True).load(HOOKED)
    jsonschema.validate(data, json_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "hooks": {"before_run": 7}}, json_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "hooks": {"before_runs": "x"}}, json_schema())


@pytest.mark.parametrize(
    ("text", "destination", "port"),
    [
        ("ssh://db1", "db1", None),
        ("ssh://me@db1.example.com:2222", "me@db1.example.com", 2222),
        ("ssh://me@[::1]:22", "me@::1", 22),
    ],
)
def test_addresses(text: str, destination: str, port: int | None) -> None:
    found = ssh.address(text)
    assert (found.destination, found.port) == (destination, port)
    words = found.command()
    assert words[-2:] == [destination, "exec /bin/sh"]
    assert words[-3] == "--"
