"""Every workload: options, limits, defaults, presets; and the generators of values."""

from __future__ import annotations

from typing import Any

from dbdyno.experiment import json_schema, workloads
from dbdyno.experiment.values.generators import GENERATORS
from dbdyno.experiment.workloads.base import FLAG, SIZE, Option, Workload
from dbdyno.experiment.workloads.lua import BUILTIN
from reference_pages.engine import listed
from reference_pages.experiment import kind_of
from reference_pages.markdown import code, sections, table

MIX = """The class of a statement, under which reports show it, is its name; that of a step its `name`, or the transaction's name and the step's number.
Statements and transactions are chosen by weight. A transaction's steps stand between begin and commit. An answer that is not as `expect` says counts as an
error `check`, and its transaction is rolled back. Whether a group changes data (then each trial starts from restored data) follows from the first word of each statement; `reads:` overrules it.
A step with `one_of` sends one of several statements, chosen by weight each time (one without `sql` sends nothing); steps with the same `choice` take branches of the same position, so that a row is deleted from
the table into which it is inserted again. The class of a branch is its `name`, or the transaction's name, the step's number and its own; branches that are alike may have the same name.
A text alone stands for `{sql: text}`. Paths of factors reach into it: `app.params.uid.theta`, `app.statements.find_user.weight`."""

KV = """`pipeline` is for Redis (and the null driver): with `pipeline: 16` each session sends 16 operations in one write and then reads 16 answers, as `redis-benchmark -P 16` does.

```yaml
targets: {cache: {kind: redis}}
workload: {kind: kv, preset: b, fields: 1, sessions: 8}
factors:
  workload.pipeline: [1, 4, 16, 64]
```

Each operation remains a transaction: throughput counts operations, an error reply fails its own operation alone, and a latency is the time from the write to the operation's own answer, so that it contains the
server's work on those before it in the write. `deadline` holds for each operation of a write, `think` is a pause between two writes, and `sessions` times `pipeline` is the largest number of operations in flight. In an open loop a session sends together what is
due, at most `pipeline` operations, and waits for no others; response times count from each operation's own due time. `operations_per_write` is the mean number of operations in a write. [Reasons](../decisions/pipelining.md)."""
REGISTER = """For [`audit: register`](../guide/audit.md#are-reads-up-to-date), and without it an ordinary load. Each operation commits by itself; its record is drawn evenly. Every value is written once, so that a read identifies
its writer. A compare-and-set is two statements, a read and `UPDATE ... WHERE content = ?`; one that finds another value than it has read counts as committed, and has written nothing. Kinds of transactions:
`read`, `write`, `compare_and_set`. On Redis a record is a string (GET, SET)."""

APPEND = """For [`audit: append`](../guide/audit.md#does-the-isolation-level-keep-its-promise). A list is a row with its elements as text, each followed by a comma; an append is `UPDATE ... SET elements = CONCAT(elements, ?, ',')`. A transaction is
BEGIN, 1 to `operations_max` operations, each on one of `lists` lists drawn evenly, and COMMIT. After each `turn` of its own transactions a session turns to the next `lists` lists, and behind the last of `rows` to the first again. Fewer `lists` make more conflicts; a longer `turn`
makes longer lists, which are read and rewritten whole (an answer may have 1 MiB), and keeps sessions together that differ in speed. `read: 1` only reads, as for a group with `route: replicas`."""

BANK = """For [`audit: bank`](../guide/audit.md#does-a-sum-stay-constant). A transfer selects two balances and updates both to values that the client computed, 1 to 10 less and as much more; a balance that is too small is left alone. A read selects all accounts by two statements of one transaction. Kinds of
transactions: `read_all`, `transfer`. `read: 1` only reads, as for a group with `route: replicas`."""

IO = """```yaml
targets: {fs: {kind: files, options: {direct: true}}}
workload: {kind: io, preset: random_mixed, total_size: 1Gi, block_size: 16Ki, sync_every: 100, sessions: 4}
```

A transaction is one block, read or written; `mib_per_s` is what the blocks of a second amount to. Reads and writes are spread evenly over a session's transactions. A write counts as committed once what makes
it durable has answered too, where that is due: after each `sync_every`-th write of a session, the file just written if that is 1, else every file. Random blocks are drawn from all whole blocks of all files. In order
each session goes from a place of its own through all files, and round again. The files do not depend on `block_size`, `access` and the rest: levels that differ in these read the same ones. Nothing is made durable at the end
of a trial: what is written back later is outside of the measured time, and dbdyno waits for it before the next trial after a restart.

How files are opened is the target's: [`options`](engine.md#files) `direct`, `sync`, `method`. An operation waits for the kernel, so more of them under way are more `sessions`; there is no queue of asynchronous I/O (`dyno sysbench fileio
--file-io-mode=async` has one). A system call cannot be interrupted: an operation that ends after the `deadline` counts as failed then, and the end of a trial waits for those under way. What the system refuses
is an error by its name (`ENOSPC`, `EIO`; `EOF` beyond a file's end, `SIGBUS` with `method: mmap`)."""

LUA = f"""```yaml
workload: {{kind: lua, script: my.lua, sessions: 16, options: {{tables: 4, table_size: 100000}}}}
```

What [`dyno sysbench`](sysbench.md) runs, in `dyno run`: `prepare` of the script loads the data, its events are the transactions. Built in: {", ".join(code(name) for name in sorted(BUILTIN))}.
Systems: mariadb, mysql, postgres (as `pgsql` in scripts), sqlite; not the null driver. Options of a script are levels like any other: `workload.options.range_size: 10`. All of them count for the data, so that
levels that differ in one are loaded apart. Where connections go, how many sessions there are and for how long is the experiment's to say: `sysbench.opt` has `threads`, `time` and `db-driver`, and no password, host or port.

A file's text is part of the plan, and with it of the run; modules that it requires from its directory are not, so keep these with the run yourself. What a script prints goes to standard error.
A transaction is an event: its latency includes errors after which the event began again and, unlike that of other workloads, the script's own time. Operations and rows are those of its last attempt. Errors that are ignored
(`mysql-ignore-errors`, by default 1213, 1020, 1205; `pgsql-ignore-errors`: 40P01, 40001, 23505; `sqlite-ignore-errors`: 5, 6) count by code; any other ends the trial, as does a script whose sessions end before
the time is over.
`protocol:` of the target is ignored: the script decides what it prepares. Its sessions keep load threads of their own, so a script is the only group of its experiment. There are no classes of statements, hence no EXPLAIN.

`rate` and `find` are as for other workloads: an event begins when it is due, its response counts from then, and the backlog is drained. A script with a `thread_run` of its own takes an event by
`sb_more_events` and begins it by `sb_event_start`; one that it does not begin or not end has failed. `think`, `deadline` and `retries` are refused: within an event a script decides itself what it waits for
and tries again, and it cannot be stopped in the midst of one. Five seconds after the end, or after the drain, events still under way are cancelled; with a rate they are left, as lower bounds.
The sessions of a load thread take turns, so an answer waits for the turns before it: that wait is in the lag, and part of the latency."""

REPLAY = """```yaml
workload: {kind: replay, log: all.trace, speed: 2x}
```

Plays a trace, which [`dyno digest LOG --trace FILE`](digest.md) makes of logs of MySQL, MariaDB or PostgreSQL ([why a file between](../decisions/trace-format.md)). Each recorded session is a session: its statements go in their order over one connection, which is
made a second before the first of them and closed after the last. `sessions` bounds how many are played at a time; where it is not written there are as many as the log had at once, and twice as many with the log's
times. A recorded session for which nobody is free begins late.

With `speed: 2x` statements are due at the log's times, divided by two: an open loop, with response times from when a statement was due, service times, and a backlog. One that is due while its session waits for
an answer is late, never dropped. `speed: max`: each statement follows the answer before it. A statement is a transaction here; BEGIN and COMMIT go as they were recorded, and nothing is tried again; `deadline` is an hour where nothing is written. A lost connection costs the statement under way, and with it the transaction around it: the session
connects again and goes on. The classes are the log's 63 most
costly of those that are sent, the rest is `other`; statements have no EXPLAIN.

`duration` is the trace's length by its speed where nothing is written, `warmup` 0, and as fast as it goes the trial ends with the trace (`--dry-run` then shows the limit of an hour or three times the trace). A `duration` cuts it. `rate`, `arrivals`, `find`, `think` and
`retries` are refused, several instances or nodes too.

**Read-only unless `writes: true`.** Sent is what is shown to be a read, words of transactions, and SET of session variables that lift no guard; anything else is skipped and counted in the trial's warnings, by effect and class: `SELECT ... FOR UPDATE`, CALL, SET GLOBAL, DDL, DML, unrecognised statements. And
each session begins with `SET SESSION TRANSACTION READ ONLY` (PostgreSQL: `SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY`), so that a function that writes is refused by the server (1792, 25006) and counts as an error. With `writes: true` existing data
is written to only if `--write-to` names it, as for every workload; names with a schema in the statements themselves (`other.t`) are sent unchanged.

`databases: log` has sessions use the databases that the log names (MySQL: also USE in between; PostgreSQL: at login); with `target` all use the target's. All statements go as text, also those that were prepared; the user is the target's. Systems: mariadb, mysql, postgres of the trace's language, and the null driver."""

GENERATORS_ABOUT = """Parameters of `mix` and columns of declared tables say how their values are made: a mapping with exactly one of the keys below, and others
next to it. Each value is a pure function of the seed, the session and its number. A `sequence` counts rows in a table, and in a mix gives each transaction of all sessions its own number.
`column` (parameters only) chooses among the values of a column, all alike or with `theta` some more often (the same ones wherever the column is named): looked up before the load through the control connection, at most 100,000 distinct ones, beyond that every n-th.
With `by_rows` a value is drawn as often as rows have it; with `meets` as often as (rows that have it)^a, where a, from -4 to 4, is chosen so that a draw meets that share of the table's rows on average. Then, beyond 100,000 values, those that have every n-th row."""

_OWN = {"type", "key", "null", "per", "nulls"}


def page() -> str:
    """docs/reference/workloads.md"""
    abouts = {entry["name"]: entry["about"] for entry in listed()["workloads"]}
    return sections(
        "# Workloads",
        "Options are next to `kind:` in a group. A level of a factor may patch any of them.",
        *(_workload(each, abouts[name]) for name, each in workloads.WORKLOADS.items()),
        "## Generators",
        GENERATORS_ABOUT,
        table(("generator", "values", "options"), (_generator(name) for name in GENERATORS)),
        "Besides, all of them except `sum` have (parameters only): `nulls`, the share of values that are NULL instead. A parameter also takes `per` (`transaction`, `statement` or `repetition`): with `statement` each statement and "
        "each repetition has a value of its own, instead of one for the whole transaction, and each element of a list of a statement its own; `repetition` is the same, but that a `sequence` begins again in each transaction: it numbers the lines of an order. A sum is made of what its terms are in the statement that names it, whether they are in it or not. "
        f"The engine also has {code(', '.join(workloads.LOAD_ONLY))} ({abouts['tables']}), which `setup:` of a target uses.",
    )


def _workload(workload: Workload, about: str) -> str:
    head = sections(f"## {workload.name}", f"{about[0].upper()}{about[1:]}.")
    if workload.name in _PARTS:
        return sections(head, _ABOUT[workload.name], *_nested(_PARTS[workload.name]))
    options = table(
        ("option", "values", "default", "meaning", "changes the data"),
        (_row(option) for option in workload.options),
    )
    if not workload.presets:
        return sections(head, options, _ABOUT[workload.name])
    return sections(
        head,
        _ABOUT.get(workload.name, ""),
        options,
        "### Presets",
        _PRESETS[workload.name],
        table(
            ("preset", "a transaction"),
            ((code(name), _counts(preset)) for name, preset in workload.presets.items()),
        ),
    )


_PRESETS = {
    "oltp": "A preset gives counts to start from; what it does not name is 0. `skip_trx` omits begin and commit.",
    "io": "A preset gives access and the share of reads to start from.",
    "kv": "A preset gives proportions and the distribution to start from; what it does not name is 0.",
}
_ABOUT = {
    "kv": KV,
    "mix": MIX,
    "io": IO,
    "lua": LUA,
    "replay": REPLAY,
    "register": REGISTER,
    "append": APPEND,
    "bank": BANK,
    "tpcc": """`mode: faithful` is TPC Benchmark C 5.11 in its inputs and data: non-uniform numbers whose constants hold for a run (and keep the prescribed distance from the load's), 1 % of order lines
and 15 % of payments from other warehouses, 60 % of customers by last name, full text, 1 % of new orders rolled back; mix 45:43:4:4:4. `mode: sysbench` is what the published scripts for sysbench do instead:
everything at home, constants drawn again, text of one repeated character, mix 10:10:1:1:1, some statements more and some columns not kept up, tables named `warehouse1` and so on; their foreign keys are omitted, the indexes of these are not.
Neither yields a tpmC: there are no terminals, deliveries are not queued, and sessions send as fast as answers come unless `paced`.

Each kind of transaction has metrics of its own: `kind.new_order.per_min`, `kind.payment.service_ms_p95`. A new order that rolls back as it should is counted, under the class `rollback`, and is no error.
After each trial all twelve consistency conditions of clause 3.3.2 are asked of the whole data, in both modes; a trial whose data break one is void. Conditions 10 and 12 are asked of every customer, not of a few.
Condition 11 holds as printed only before the first delivery: here orders less waiting ones are those loaded as delivered and those delivered since (`c_delivery_cnt`).""",
}
# Of workloads whose options nest: title -> model in the schema, and which of its keys.
_PARTS: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    "mix": {
        "groups.NAME": ("MixGroup", ("params", "statements", "transactions")),
        "statements.NAME": ("Statement", ()),
        "transactions.NAME": ("Transaction", ()),
        "transactions.NAME.steps": ("Step", ()),
        "transactions.NAME.steps, of branches": ("OneOf", ()),
        "one_of": ("Branch", ()),
        "lists": ("ListOf", ()),
        "expect": ("Expect", ()),
    },
    "lua": {"groups.NAME, lua": ("LuaGroup", ("script", "options", "reads"))},
    "replay": {
        "groups.NAME, replay": ("ReplayGroup", ("log", "speed", "writes", "databases")),
    },
}


def _nested(titles: dict[str, tuple[str, tuple[str, ...]]]) -> list[str]:
    """The keys of a workload, part by part, from the schema."""
    parts = json_schema()["$defs"]
    found = []
    for title, (name, only) in titles.items():
        fields: dict[str, Any] = parts[name]["properties"]
        rows = (
            (
                code(key),
                kind_of(field),
                "required" if key in parts[name].get("required", ()) else _plain(field),
                field.get("description", ""),
            )
            for key, field in fields.items()
            if not only or key in only
        )
        heads = ("key", "type", "default", "meaning")
        found.append(sections(f"### {title}", table(heads, rows)))
    return found


def _plain(field: dict[str, Any]) -> str:
    default = field.get("default")
    return "" if default in (None, {}) else code(default)


def _generator(name: str) -> tuple[str, str, str]:
    part = json_schema()["$defs"][f"{GENERATORS[name].__name__}Param"]
    beside = (
        f"{code(key)} ({field['description']})"
        for key, field in part["properties"].items()
        if key != name and key not in _OWN
    )
    about = part["description"]
    return code(name), about, ", ".join(beside)


def _row(option: Option) -> tuple[str, ...]:
    about = option.about
    if option.of_distribution:
        about += f"; only with `distribution: {option.of_distribution}`"
    return code(option.name), _values(option), _default(option), about, "yes" if option.data else ""


def _values(option: Option) -> str:
    if option.words:
        return ", ".join(code(word) for word in option.words)
    if option.low is None or option.high is None:
        return {FLAG: "`true`, `false`"}.get(option.type, option.type)
    if option.type == SIZE:
        return f"size, {_size(option.low)} to {_size(option.high)}"
    return f"{option.type}, {option.low:,} to {option.high:,}"


def _size(size_bytes: float) -> str:
    """As a file has it: `128Mi`."""
    power = next(n for n in (4, 3, 2, 1, 0) if size_bytes % (1 << 10 * n) == 0)
    return f"{int(size_bytes) >> 10 * power}{('', 'Ki', 'Mi', 'Gi', 'Ti')[power]}"


def _default(option: Option) -> str:
    if option.type == SIZE:
        return code(_size(option.default))
    if option.default is not None:
        return code(option.default) if option.default != "" else ""
    return "" if option.default == "" or option.name == "id_range" else "from the preset"


def _counts(preset: Any) -> str:
    return ", ".join(f"{code(name)} {str(value).lower()}" for name, value in preset.items())
