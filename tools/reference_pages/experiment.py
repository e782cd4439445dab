"""Every key of an experiment file, from its JSON Schema."""

from __future__ import annotations

from typing import Any

from dbdyno.experiment import json_schema
from dbdyno.experiment.faults import KEYS, FaultBase
from dbdyno.experiment.model import TOP_KEYS, GroupBase
from dbdyno.experiment.workloads import arrivals, measuring
from dbdyno.faults import DRAWN, nemesis
from dbdyno.faults import FAULTS as FAULTS_KNOWN
from reference_pages.markdown import code, sections, table

INTRO = """One YAML 1.2 file. `dyno schema` prints the same as a JSON Schema for editors, and `dyno schema --path` its file: `dyno init` puts
`# yaml-language-server: $schema=PATH` on the first line. What is not listed here is an error.

Words of other tools mean the same: `threads` and `clients` are `sessions` of a group, `name` is `experiment`."""

VALUES = (
    ("duration", "`500ms`, `10s`, `5m`, `1h30m`", "a plain number is refused: of which unit?"),
    (
        "size",
        "`64M` (10^6), `1Gi` (2^30), or bytes",
        "kMGT are powers of 1000, Ki Mi Gi Ti of 1024",
    ),
    ("rate", "`66.7/s`, `4000/min`", ""),
    ("share", "`3%` or `0.03`", ""),
    ("level", '`on`, `off`, `"on"`', "words, quoted or not: this is YAML 1.2"),
)

GROUP = "One workload with its own sessions."

SETUP = """Paths are relative to the experiment's file; what they hold belongs to the data set, so a changed dump is loaded again and a
resumed run refuses it. Files of SQL go through the system's own client program (`mariadb`, `mysql`, `psql`; SQLite reads them itself) and may not leave
the schema: `USE`, `CREATE DATABASE`, `\\connect`, grants and the client's own commands are refused with their line. What fails half-way is dropped whole."""

THERE = """A URL is `mysql://`, `mariadb://`, `postgres://` or `postgresql://`, then `USER@HOST:PORT/SCHEMA`; instead of host and port a socket
(`mysql://USER@/SCHEMA?socket=/PATH`, `postgres://%2FDIRECTORY/DATABASE`). At most one source of a password is named; without one `~/.my.cnf` or `~/.pgpass` is read.
With a URL these are errors: `basedir`, `version`, `memory`, `durability`, `transport`, `instances`, `limits`, `setup.template`, in PostgreSQL files of SQL, and `config` without
`may.set_global`. [The guide](../guide/external-servers.md) has grants and examples."""

TOPOLOGY = """The keys of `topology.network` are those of [limits.network](#targetsnamelimitsnetwork), with the bandwidth of each port and from
each node. [The guide](../guide/lab.md) has examples."""

NETWORK = """For `transport: tcp`. A relay on loopback delays what passes; dbdyno measures it before the trials. A connection costs three ways before the server sees it, as TCP's
handshake does; the load of the data does not pass through it. A target without `network` is reached directly: compare delays with `delay: 0ms`, which has the relay's
own cost too. [What it is and is not](../decisions/relay.md)."""

FACTORS = """A factor has two or more levels; cells are all combinations. Three spellings:

- `sessions: [1, 4, 16]`: the factor's name is a path, its values are laid there one by one.
- `id_range: {set: [readers.id_range, updater.id_range], levels: [10000, 100000]}`: one list of values, several paths.
- `cache: {on: {db.config: {query_cache_type: 1}}, off: {...}}`: each level is a patch, dotted path -> value; mappings merge deeply.

A path starts with a target's name (`db.config`), a group's name (`readers.sessions`), or a top-level key (`duration`).
With one group its name may be omitted (`sessions`). A factor is *hard* if a level changes a target (except for `protocol`, `tls`,
`transport`, `options`, `session`, `limits.network`), the loaded data, `cpus` of the servers or `state.cache`: servers then restart between its levels.
Other factors are *easy*. A level without `cpus` has the default. What decides how the run itself is laid out (`blocks`, `seed`,
`state.data`, `matters`, `require`, `needs`, `budget`, `load_threads`, `drain`) holds for all cells alike and is no level."""

TRIALS = """`trials: {max: 12, until: decided}` replaces `blocks: 6`. The plan has the order of all `max` blocks; after each whole block
from `min` on an interim look judges every claim, and the run ends once all that can be judged are decided. Intervals and verdicts allow for the looks
([decision](../decisions/stopping-when-decided.md)). `--dry-run` says how long both ends take, a `budget` may end the run before, `--resume` goes on with its looks."""

STEADY = """Throughput of all groups together, without its warm-up, must have no change point and no trend that matters for at least 10 s, and its mean must be
known to within `matters`; only that part of the trial counts. If `max` comes first, all of it does, with a warning. Not for groups with `rate` or `find`. With
`--quick` trials end after a fixed time. [Why so](../decisions/steady-state.md)."""

HOOKS = """A command is text, a mapping, or a list of these. It runs through `/bin/sh -c` where the run was begun, or on a host by
your own `ssh`, which must need no password. It is given `DYNO_RUN`, and where it belongs to a trial `DYNO_TRIAL`, `DYNO_BLOCK`, `DYNO_CELL` and
`DYNO_LEVEL_FACTOR` for each factor (capital letters, `_` for all but letters and digits). What follows when one fails:

| point | then |
|---|---|
| `before_run` | the run ends |
| `apply`, `wait_until`, `before_cell`, `before_trial`, `during_trial`, `after_trial` | the trial is void, and is tried again at most twice |
| `undo` | the run ends; `dyno run --resume` tries it again first |
| `after_run` | the report says so |

A command under `during_trial` runs at second `at_s` of the measured time, during the load. Its moment must be within the trial, so `duration` has a length (not
`until: steady`). Where a group has `find`, it runs in each probe; with `--quick`, its moment comes sooner by as much as the trial is shorter.
`hooks.ndjson` has the second that was asked (`at_s`) and the one at which it began (`started_s`). The trial waits for a command that is still running at its end
([decision](../decisions/moments-of-a-trial.md)).

Both output streams are kept, 1 MiB at most. [The guide](../guide/hooks.md) has examples."""


FAULTS = """Faults strike servers that dyno has started, at their moment of the measured time: of a target of one server, its `primary`; of `instances`, a node by its name
(`db`, `db.2`) or `any`. A node that is `any` is drawn from the trial's seed, as are the faults of a `nemesis`: the same trial meets the same ones again.
Lost connections, errors and outages are what is measured: they do not void the trial. A fault that could not be begun, or not be undone at its moment, does.

Faults of one node are carried out in the order of their moments, those of the same moment as they are written; a `switchover` is of all nodes of its topology: it waits for
what comes before it on any of them, and work of an operator (`restart`, drills) that comes after it waits for its end. A fault whose turn has not come when the load ends did not happen.

Each fault is undone at the end of the trial, if it has no earlier end: servers are started again, go on, or get their limits back. The next trial starts fresh servers on restored data.
Refused: external servers (`url`), kinds without a server process, `until: steady`, `find`. With `--quick` faults come and end sooner by as much as the trial is shorter.
`partition` and `link` are on links of nodes to each other or to the load, which then go through a relay on loopback ([decision](../decisions/between-nodes.md)).
`faults.ndjson` in the trial's directory has each step, with its time and outcome. [The guide](../guide/faults.md) has examples, the [metrics](metrics.md) `outage_s`, `failover_s`,
`promotion_s`, `quorum_lost_s`, `tps_before` and `brownout_s` are for claims. `backup`, `restore`, `switchover`, `replace`, `upgrade` and `detach` are [drills](../guide/drills.md), whose steps are timed: `rto_s`, `rpo`,
`step_s.DRILL.STEP`."""


def page() -> str:
    """docs/reference/experiment.md"""
    schema = json_schema()
    schema = {**schema, "required": [*schema["required"], "experiment"]}  # or its synonym
    parts = schema["$defs"]
    return sections(
        "# Experiment file",
        INTRO,
        "## Values",
        table(("kind", "written", "remark"), VALUES),
        "## Top level",
        table(_HEADS, (_row(name, schema["properties"][name], schema) for name in TOP_KEYS)),
        "One of `workload` and `groups` must be there.",
        _part("targets.NAME", parts["TargetModel"], parts, ()),
        THERE,
        _part("targets.NAME.nodes", parts["NodesModel"], parts, ()),
        _part("targets.NAME.may", parts["MayModel"], parts, ()),
        _part("targets.NAME.topology", parts["TopologyModel"], parts, ()),
        TOPOLOGY,
        _part("targets.NAME.limits", parts["LimitsModel"], parts, ()),
        _part("targets.NAME.limits.network", parts["NetworkModel"], parts, ()),
        NETWORK,
        _part("targets.NAME.topology", parts["TopologyModel"], parts, ()),
        _part("targets.NAME.topology.failover", parts["FailoverModel"], parts, ()),
        _part("targets.NAME.topology.router", parts["RouterModel"], parts, ()),
        _part("targets.NAME.data", parts["DataModel"], parts, ()),
        _part("groups.NAME, workload", GroupBase.model_json_schema(), parts, (), GROUP),
        "Further keys are the workload's own: see [workloads](workloads.md).",
        _part("setup, targets.NAME.setup", parts["DataSetup"], parts, ()),
        SETUP,
        _part("setup.tables.NAME", parts["Table"], parts, ()),
        _part("setup.tables.NAME.columns.NAME", parts["ConstColumn"], parts, ("const", "nulls")),
        "And a generator: see [generators](workloads.md#generators).",
        _part("setup.tables.NAME.indexes", parts["Index"], parts, ()),
        *_arrivals(parts),
        _part("trials", parts["TrialsModel"], parts, ()),
        TRIALS,
        _part("duration, spelt out", measuring.SteadyModel.model_json_schema(), parts, ()),
        STEADY,
        _part("state", parts["StateModel"], parts, ()),
        _part("needs", parts["NeedsModel"], parts, ()),
        _part("cpus", parts["CpusModel"], parts, ()),
        _part("faults", FaultBase.model_json_schema(), parts, ()),
        FAULTS,
        table(("fault", "what it does"), _faults()),
        *_fault_keys(),
        _part("prices", parts["PricesModel"], parts, ()),
        "Any other key is a factor's name, with the price of each of its levels.",
        _part("hooks", parts["HooksModel"], parts, ()),
        HOOKS,
        _part("hooks.POINT, spelt out", parts["HookModel"], parts, ()),
        _part("hooks.during_trial, spelt out", parts["MomentModel"], parts, ()),
        _part("claims", parts["ClaimModel"], parts, ()),
        "A claim is text, or this mapping. [The grammar](claims.md).",
        "## factors",
        FACTORS,
        _part("factors.NAME, short", parts["SetForm"], parts, ()),
        _part("factors.NAME.LEVEL, besides its patches", parts["LevelHooksModel"], parts, ()),
        "A factor with such a level is *hard*.",
        _part("factors.NAME.LEVEL.wait_until, spelt out", parts["WaitModel"], parts, ()),
    )


def _faults() -> list[tuple[str, str]]:
    drawn = (nemesis.__doc__ or "").splitlines()[0].partition(".")[0].lower()
    return [
        *((code(name), each.about) for name, each in FAULTS_KNOWN.items()),
        (code(DRAWN), drawn),
    ]


def _fault_keys() -> list[str]:
    """The keys of faults that take more than others, those alike together."""
    names: dict[Any, list[str]] = {}
    for name, model in KEYS.items():
        if model.model_fields:
            names.setdefault(model, []).append(code(name))
    return [
        _part(f"faults, {' and '.join(each)}", model.model_json_schema(), {}, ())
        for model, each in names.items()
    ]


_HEADS = ("key", "type", "default", "meaning")


def _arrivals(parts: dict[str, Any]) -> list[str]:
    """What an open loop, a search and a pause are made of."""
    models = (
        ("groups.NAME.rate, each step of a schedule", arrivals.RateStepModel),
        ("groups.NAME.find", arrivals.FindModel),
        ("groups.NAME.think, spelt out", arrivals.ThinkModel),
    )
    return [_part(title, model.model_json_schema(), parts, ()) for title, model in models]


def _part(
    title: str,
    part: dict[str, Any],
    parts: dict[str, Any],
    without: tuple[str, ...],
    about: str = "",
) -> str:
    rows = (
        _row(name, field, part) for name, field in part["properties"].items() if name not in without
    )
    about = about or part.get("description", "")
    return sections(f"## {title}", about, table(_HEADS, rows))


def _row(name: str, field: dict[str, Any], whole: dict[str, Any]) -> tuple[str, str, str, str]:
    required = name in whole.get("required", ())
    default = "required" if required else _default(field)
    return code(name), kind_of(field), default, field.get("description") or _of_part(field)


def _of_part(field: dict[str, Any]) -> str:
    """What a key means that has no words of its own: what the part says that it refers to."""
    several: dict[str, Any] = next(iter(field.get("patternProperties", {}).values()), {})
    several = several or field.get("additionalProperties") or {}
    for each, words in ((field, "{}; see below"), (several, "by name: {}; see below")):
        if isinstance(each, dict) and "$ref" in each:
            about = json_schema()["$defs"][each["$ref"].rpartition("/")[2]]["description"]
            return words.format(about.rstrip("."))
    return ""


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    if value in (None, "", {}, []):
        return ""
    if isinstance(value, bool):
        return code(_written(value))
    # Lengths of time are seconds once read, but a file gives their unit.
    unit = "s" if "duration" in kind_of(field) else ""
    return code(f"{value:g}{unit}" if isinstance(value, float) else value)


def _written(value: Any) -> Any:
    """A value as a file has it."""
    return str(value).lower() if isinstance(value, bool) else value


def kind_of(field: dict[str, Any]) -> str:
    """A type of the schema in words."""
    if "$ref" in field:
        return "mapping"
    if "enum" in field:
        return ", ".join(code(_written(value)) for value in field["enum"])
    if "const" in field:
        return code(field["const"])
    if branches := field.get("anyOf") or field.get("oneOf"):
        kinds = [kind_of(each) for each in branches if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind))
    if "examples" in field:
        return _by_example(str(field["examples"][0]))
    kind = field.get("type", "")
    if kind == "array":
        return f"list of {kind_of(field['items'])}"
    if kind == "object":
        return "mapping"
    return _limits(kind, field)


def _by_example(example: str) -> str:
    if example.endswith("%"):
        return "share"
    if "/" in example:
        return "rate"
    return "duration" if example.endswith("s") else "size"


def _limits(kind: str, field: dict[str, Any]) -> str:
    low, high = field.get("minimum"), field.get("maximum")
    if high is not None:
        return f"{kind}, {low} to {high}"
    return f"{kind} from {low}" if low is not None else kind
