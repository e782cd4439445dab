"""Files of a run directory, and the committed schemas. A contract test compares with a real run."""

from __future__ import annotations

import json
from pathlib import Path

from dbdyno.report import write
from dbdyno.share.redact import aliases
from dbdyno.store import annotation, faultlog, hooklog, manifest, record, rolelog, run
from reference_pages.markdown import code, sections, table

SCHEMAS = Path(__file__).parents[2] / "schemas"

FILES = (
    (manifest.MANIFEST, "status, versions, environment, the frozen plan; `manifest.schema.json`"),
    ("lock", "locked (flock) by the process that works on the run"),
    ("run.log", "output of the program during the run"),
    (write.RESULT, "results, for programs; `result.schema.json`"),
    (
        annotation.ANNOTATIONS,
        "additions to the report, if any: customer, author, recommendation, logo;"
        " `annotations.schema.json`",
    ),
    (write.HTML, "the report: one file, opens offline"),
    (write.MARKDOWN, "the report's numbers as text"),
    (write.BRIEF, "only after `dyno report --brief`: the short form, of two printed pages"),
    (
        "report.pdf",
        "only after `dyno report --pdf`: the page on paper; with `--brief` it is `brief.pdf`",
    ),
    ("redacted/", "only after `dyno report --redact`: the same three files, redacted"),
    (aliases.FILE, "only after `--redact`: names and their aliases; readable by the owner only"),
    (
        f"trials/ID/{run.ENGINE_PLAN}",
        "the plan of the engine without secrets; `engine-plan.schema.json`",
    ),
    (
        f"trials/ID/{run.EVENTS}",
        "events of the engine, one per line; `engine-event.schema.json`; in an imported run only"
        " `interval` events, with the values of the tool",
    ),
    (
        f"trials/ID/{run.HISTOGRAMS}",
        "HdrHistogram log, version 1.3: ns, two significant digits. Tags: `GROUP` per measured interval, `GROUP/!warmup` per warm-up interval, "
        "`GROUP/CLASS`, `GROUP/!kind.KIND` (if the workload has kinds of transactions), `GROUP/!errors` and `!lag` once; for an open loop `GROUP/!response` and `GROUP/!dispatch` once",
    ),
    (
        f"trials/ID/{run.SAMPLES}",
        '`{"t_s", "length_s", "source", "values"}`, one per line: the values of the '
        "`length_s` seconds before `t_s`; the measured phase starts at 0; absent with `sampling: off`",
    ),
    (
        "trials/ID/history.log",
        "only with `audit: register`, `append` or `bank`: what each attempt at a transaction read and wrote, in binary records (`engine/generator/src/audit/history.rs`)",
    ),
    (
        "trials/ID/audit.log",
        "only with `audit: commits`: the outcome of each attempt, in binary records (`engine/generator/src/audit/log.rs`)",
    ),
    (run.RECORD, "only of `dyno sysbench --dyno-out`: the record of the run, one line per second"),
    ("trials/ID/engine.log", "standard error of the engine, if any"),
    (
        f"trials/ID/{run.TRIAL}",
        "metrics (`bounds` names those that are lower (`>=`) or upper (`<=`) bounds), `measured_s`, `steady_from_s` with `until: steady`, `probes` of a search, `audit` of commits, `histories` that were checked, `routing` of an examined router, warnings, outages, settings, plans of statements; "
        "it is written last, so a trial with this file is complete",
    ),
    (
        "trials/ID/probe-N/",
        "only in a search for a rate: the engine's input and output of each probe; the files of the probe that represents the trial are copied to the trial",
    ),
    (
        f"trials/ID/{hooklog.LOGS}/NAME.log",
        "only with `before_trial`, `during_trial` or `after_trial` commands: their output",
    ),
    (
        f"trials/ID/{faultlog.FAULTS}",
        "only with `faults`: a line before each step and one with its outcome after it; `wait` is the time before its turn, "
        "and `said` what it waits for; times are seconds of the measured time",
    ),
    (
        f"trials/ID/{rolelog.ROLES}",
        "with `failover`: who was silent, fenced, a candidate, promoted, elected or chosen, who follows whom, "
        "and where sessions are led, a line each; of a Galera cluster or a group with `faults`: which node lost its "
        "quorum, and regained it; `logged` is a server's own time, less what a `clock` put it off by (`undated`: it may be of two moments); times are seconds of the measured time",
    ),
    (
        "left-on-servers.json",
        "settings and schemas on external servers that must be restored; removed afterwards",
    ),
    ("trials/ID.void-N", "an attempt that did not meet `require:` or failed, with its record"),
    ("trials/ID.partial-N", "files of an interrupted attempt; never used"),
    (hooklog.RUNS, "only with hooks: each command, with its time and exit code"),
    (f"{hooklog.LOGS}/NAME.log", "output of commands that belong to no single trial"),
    (
        hooklog.APPLIED,
        "only with `apply` commands: the levels in force, written before they are applied; a "
        "resumed run undoes them",
    ),
)

STATUS = (
    (
        manifest.RUNNING,
        "a process works on the run; if the lock is free, the process was killed and the run can be resumed",
    ),
    (manifest.INTERRUPTED, "ended by Ctrl-C; can be resumed"),
    (manifest.COMPLETE, "all trials are done"),
    (
        manifest.FAILED,
        "ended by an error, which is `failure` in `manifest.json`; can be resumed after its cause is removed",
    ),
)


def page() -> str:
    """docs/reference/run-directory.md"""
    return sections(
        "# Run directory",
        "All files of one run; `dyno report DIR` rebuilds the report from them. The ID of a trial is `b01-t003`: block and position in the plan. Only the owner can read the directory (mode 0700).",
        table(("file", "content"), ((code(name), text) for name, text in FILES)),
        f"Schema versions: run directory {manifest.SCHEMA_VERSION}, trial.json {record.RECORD_VERSION}. Each is an integer that "
        "increases when an older reader would misinterpret a newer file; readers reject unknown versions.",
        "## Status",
        table(("status", "meaning"), ((code(name), text) for name, text in STATUS)),
        "## Schemas",
        "JSON Schema, draft 2020-12, in `schemas/`.",
        table(
            ("schema", "describes"),
            ((code(path.name), _title(path)) for path in sorted(SCHEMAS.glob("*.schema.json"))),
        ),
    )


def _title(path: Path) -> str:
    schema = json.loads(path.read_text())
    title = schema.get("title", "")
    about = schema.get("description", "").partition("\n")[0]
    return f"{title}: {about}" if about else title
