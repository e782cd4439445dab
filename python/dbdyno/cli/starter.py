"""The files that `dyno init` writes: an experiment that runs unchanged, with comments that teach
what to change next. One text for each part; targets and workloads combine freely."""

from __future__ import annotations

from dbdyno import kinds

KINDS = ("sqlite", "mariadb", "postgres", "mysql", "redis", "url")
WORKLOADS = ("oltp", "mix", "kv")

_HEAD = """\
# {file}: an experiment of dbdyno, ready to run. Change one thing at a time.
#
#   dyno run {file} --check      is the file valid?
#   dyno run {file} --dry-run    what would happen, how long would it take?
#   dyno run {file} --quick      a smoke test of under a minute, never judged
#   dyno run {file}              the experiment, and its report

experiment: {name}
question: {question}
# author: who asks; customer, context and notes are printed in the report, too
# author: Ann Example

"""

_TARGETS = {
    "sqlite": """\
targets:
  db:
    kind: sqlite                  # built into dbdyno: needs no server
    isolation: serializable       # the only level of SQLite
    memory: 64Mi                  # what it may cache, for each connection
    # config: {cache_spill: "OFF"}        # pragmas, in SQLite's own names

""",
    "server": """\
targets:
  db:
    kind: {kind:<20}    # a private server: started for this, gone afterwards
    durability: full              # each commit survives a power cut | os_crash_unsafe | none
    isolation: {isolation}
    memory: 256Mi                 # what the server may cache
    # config: {{{setting}}}        # settings in the server's own names

""",
    "url": """\
targets:
  db:
    # An external server: mysql://, mariadb:// or postgres://. Never with a password: that
    # comes from password_env, password_file, password_command, ~/.my.cnf, ~/.pgpass or a prompt.
    url: mysql://app@127.0.0.1:3306
    # password_env: DB_PASSWORD
    # These are the defaults: dbdyno restarts nothing, sets nothing, and writes only into a schema
    # that it has made for itself.
    may: {restart: no, set_global: no, create_schema: yes, write: no}
    # data: {existing: shop}      # read an existing schema instead; never written
    # host: ssh://me@db1          # where CPU and disks are sampled; else "host not seen"

""",
}

_WORKLOADS = {
    "oltp": """\
workload:
  kind: oltp                      # the transactions that sysbench made known
  preset: {preset:<16}        # read_write | read_only | write_only | point_select | ...
  tables: 2
  rows: 20000
  # distribution: zipfian         # uniform | special | zipfian | ...: which rows are hot

""",
    "mix": """\
    # The data: declared here, made by dbdyno. Or `dump: FILE`, `sql: [FILE]`, `template: DIR`.
    setup:
      tables:
        users:
          rows: 20000
          columns:
            id: {{type: bigint, sequence: 1, key: primary}}
            city: {{type: int, zipfian: [1, 500]}}
            name: {{type: varchar(32), text: "user-#####"}}   # a digit for each #
          indexes: [[city]]

workload:
  kind: mix                       # your own SQL; `:uid` is drawn again for each transaction
  params:
    uid: {{zipfian: [1, 20000]}}
    town: {{uniform: [1, 500]}}
  statements:
    find_user: {{sql: "SELECT name FROM users WHERE id = :uid", weight: 90, expect: {{rows: 1}}}}
    count_town: {{sql: "SELECT count(*) FROM users WHERE city = :town", weight: 10}}
  # transactions:                 # several statements that commit together
  #   move: {{weight: 5, steps: ["UPDATE users SET city = :town WHERE id = :uid"]}}

""",
    "kv": """\
workload:
  kind: kv                        # YCSB: one table of records under a key
  preset: b                       # a: half updates | b: 5 % | c: reads | d: latest | e: scans | f
  records: 20000

""",
}

_FACTORS = {
    "sqlite": """\
# What varies. A level is a patch over this file; each combination of levels is a cell, and each
# cell is measured once in every block, in a balanced order.
factors:
  journal:
    rollback: {db.config: {journal_mode: DELETE}}
    wal: {db.config: {journal_mode: WAL}}
  sessions: [1, 4]

""",
    "other": """\
# What varies. A level is a patch over this file; each combination of levels is a cell, and each
# cell is measured once in every block, in a balanced order.
factors:
  sessions: [1, 8]
  # memory:                       # with it, claims say `at each memory`
  #   small: {db.memory: 64Mi}
  #   large: {db.memory: 1Gi}

""",
}

_TAIL = """\
blocks: 6                         # fewer than 3 are never judged
warmup: 2s
duration: 5s                      # of a trial; longer ones measure more exactly
matters: 3%                       # smaller differences are not interesting

# What you expect. Each claim gets a verdict: supported, refuted or undecided.
claims:
  - {claim}
"""

_QUESTIONS = {
    "sqlite": "Is write-ahead logging faster than a rollback journal?",
    "other": "How much more do eight sessions get done than one?",
}
_CLAIMS = {
    "sqlite": "tps[wal] > tps[rollback] at each sessions",
    "other": "tps[sessions=8] > tps[sessions=1]",
}


def workloads_of(kind: str) -> tuple[str, ...]:
    """The workloads that an example of this kind of target can have, the first by default."""
    return WORKLOADS if kind == "url" or kinds.of(kind).speaks_sql else ("kv",)


def text(name: str, file: str, kind: str, workload: str) -> str:
    """An experiment of that name for a kind of target and a workload."""
    by_kind = "sqlite" if kind == "sqlite" else "other"
    if kind in ("sqlite", "url"):
        target = _TARGETS[kind]
    else:
        target = _TARGETS["server"].format(
            kind=kind,
            isolation=kinds.of(kind).default_isolation,
            setting=kinds.of(kind).example_setting,
        )
        if not kinds.of(kind).default_isolation:
            target = target.replace("    isolation: \n", "")
    load = _WORKLOADS[workload].format(preset="read_only" if kind == "url" else "read_write")
    if workload == "mix":  # its data belongs to the target
        target = target.rstrip("\n") + "\n"
    factors = _FACTORS[by_kind]
    if kind == "url":  # nothing may be set there
        factors = factors.partition("  # memory:")[0].rstrip("\n") + "\n\n"
    return (
        _HEAD.format(name=name, file=file, question=_QUESTIONS[by_kind])
        + target
        + load
        + factors
        + _TAIL.format(claim=_CLAIMS[by_kind])
    )
