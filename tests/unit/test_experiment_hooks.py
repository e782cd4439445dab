"""Commands in an experiment file: what may be written, what it means, what is refused, where."""

from __future__ import annotations

import jsonschema
import plans
import pytest
from ruamel.yaml import YAML
from test_experiment_load import ONE, failure, load

from dbdyno.experiment.types import Hook, Hooks, LevelHooks, MomentHook
from dbdyno.hosts import ssh
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.plan.outlook.commands import commands
from dbdyno.plan.pilot import Pilot, shorten
from dbdyno.plan.stored.json import from_json, to_json
from fixtures.schemas import validator

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


MOMENTS = (
    ONE
    + """\
duration: 60s
hooks:
  during_trial:
    - {run: psql -c CHECKPOINT, at_s: 30}
    - {run: x, on: "ssh://db1", deadline: 5s, at_s: 0.5}
"""
)


def test_a_command_within_a_trial_has_its_moment() -> None:
    hooks = load(MOMENTS).hooks
    assert hooks.during_trial == (
        MomentHook("psql -c CHECKPOINT", at_s=30.0),
        MomentHook("x", "ssh://db1", 5.0, at_s=0.5),
    )
    one = load(ONE + "hooks: {during_trial: {run: x, at_s: 0}}\n")
    assert one.hooks.during_trial == (MomentHook("x", at_s=0.0),)
    data = YAML(typ="safe", pure=True).load(MOMENTS)
    validator("experiment").validate(data)
    with pytest.raises(jsonschema.ValidationError):
        validator("experiment").validate({**data, "hooks": {"during_trial": "x"}})


def test_moments_are_kept_in_a_plan_and_come_sooner_in_a_quick_one() -> None:
    loaded = load(MOMENTS)
    machine = Machine(cores=8, memory_bytes=1 << 34, kernel="6", cpu_model="x")
    plan = make(loaded, machine)
    assert from_json(to_json(plan)).hooks == loaded.hooks
    quick = make(loaded, machine, quick=True)
    assert [hook.at_s for hook in quick.hooks.during_trial] == [
        pytest.approx(hook.at_s * quick.cells[0].duration_s / 60)
        for hook in loaded.hooks.during_trial
    ]
    assert [each.when for each in commands(plan)] == [
        "during_trial at 30 s",
        "during_trial at 0.5 s",
    ]


def test_a_pilot_keeps_the_length_that_moments_belong_to() -> None:
    loaded = load(MOMENTS)
    assert {cell.duration_s for cell in shorten(loaded, Pilot()).cells} == {60.0}


@pytest.mark.parametrize(
    ("duration", "moment", "said"),
    [
        ("20s", "{run: x, at_s: ¶20}", "it measures 20 s"),
        ("20s", "[{run: y, at_s: 1}, {run: x, at_s: ¶1e3}]", "`at_s: 1000` is not within"),
        ("20s", "{run: x, at_s: ¶-1}", "at least 0"),
        ("20s", "{run: x, at_s: ¶1s}", "must be a number"),
        ("20s", "[¶{run: x}]", "at_s` is missing"),
        ("{until: steady, max: 5m}", "{run: x, at_s: ¶1}", "once it is steady"),
    ],
)
def test_a_moment_that_a_trial_may_not_have_is_refused(
    duration: str, moment: str, said: str
) -> None:
    text = f"{ONE}matters: 3%\nduration: {duration}\nhooks: {{during_trial: {moment}}}\n"
    assert said in failure(text).what


def test_the_shortest_cell_decides() -> None:
    text = (
        f"{ONE}hooks: {{during_trial: {{run: x, at_s: ¶20}}}}\nfactors: {{duration: [10s, 30s]}}\n"
    )
    assert "measures 10 s" in failure(text).what


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
    schema = validator("experiment")
    schema.validate(data)
    with pytest.raises(jsonschema.ValidationError):
        schema.validate({**data, "hooks": {"before_run": 7}})
    with pytest.raises(jsonschema.ValidationError):
        schema.validate({**data, "hooks": {"before_runs": "x"}})


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
