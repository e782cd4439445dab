"""Files of a run directory, and the committed schemas. A contract test compares with a real run."""

from __future__ import annotations

import json
from pathlib import Path

from dbdyno.report import write
from dbdyno.share.redact import aliases
from dbdyno.store import annotation, hooklog, manifest, record, run
from reference_pages.markdown import code, sections, table

SCHEMAS = Path(__file__).parents[2] / "schemas"

FILES = (
    (manifest.MANIFEST, "status, versions, environment, the frozen plan; `manifest.schema.json`"),
    ("lock", "held (flock) by the process that works in the run"),
    ("run.log", "the program's output while it ran"),
    (write.RESULT, "the findings, for programs; `result.schema.json`"),
    (
        annotation.ANNOTATIONS,
        "only where something was added for the report: customer, author, recommendation, logo",
    ),
    (write.HTML, "the report: one file, opens offline"),
    (write.MARKDOWN, "the report's numbers as text"),
    (write.BRIEF, "only after `dyno report --brief`: the short form, of two printed pages"),
    (
        "report.pdf",
        "only after `dyno report --pdf`: the page on paper; with `--brief` it is `brief.pdf`",
    ),
    ("redacted/", "only after `dyno report --redact`: the same three files, redacted"),
    (aliases.FILE, "only after `--redact`: which alias stands for which name; its owner's alone"),
    (
        f"trials/ID/{run.ENGINE_PLAN}",
        "what the engine was given, less secrets; `engine-plan.schema.json`",
    ),
    (
        f"trials/ID/{run.EVENTS}",
        "the engine's events, one a line; `engine-event.schema.json`; of an imported run only"
        " `interval` events, with what the tool said",
    ),
    (
        f"trials/ID/{run.HISTOGRAMS}",
        "HdrHistogram log, version 1.3: ns, two significant digits. Tags: `GROUP` each measured interval, `GROUP/!warmup` each before, "
        "`GROUP/CLASS`, `GROUP/!kind.KIND` (of transactions, where a workload has kinds) and `GROUP/!errors` once, `!lag` once; of an open loop `GROUP/!response` and `GROUP/!dispatch` once",
    ),
    (
        f"trials/ID/{run.SAMPLES}",
        '`{"t_s", "length_s", "source", "values"}`, one a line: what happened in the '
        "`length_s` until `t_s`; measuring starts at 0; none with `sampling: off`",
    ),
    (run.RECORD, "only of `dyno sysbench --dyno-out`: what the run is made of, a line a second"),
    ("trials/ID/engine.log", "only where the engine wrote to standard error"),
    (
        f"trials/ID/{run.TRIAL}",
        "metrics (`bounds` names those that are lower (`>=`) or upper (`<=`) bounds), `measured_s`, `steady_from_s` where it ended when steady, `probes` of a search, warnings, outages, settings, plans of statements; "
        "written last: where it is, the trial is complete",
    ),
    (
        "trials/ID/probe-N/",
        "only in a search for a rate: what the engine was given and left in each probe; those of the one that represents the trial are copied up",
    ),
    (
        f"trials/ID/{hooklog.LOGS}/NAME.log",
        "only with `before_trial`, `during_trial` or `after_trial` commands: the output of each",
    ),
    (
        "left-on-servers.json",
        "settings and schemas on external servers, still to be restored; gone once they are",
    ),
    ("trials/ID.void-N", "an attempt that did not meet `require:` or failed, with its record"),
    ("trials/ID.partial-N", "what an interrupted attempt left; never used"),
    (hooklog.RUNS, "only with commands of yours: each one that ended, when, how"),
    (f"{hooklog.LOGS}/NAME.log", "what commands said that belong to no single trial"),
    (
        hooklog.APPLIED,
        "only with `apply` commands: the levels in force, written before they are applied; what "
        "is in it is undone when the run is resumed",
    ),
)

STATUS = (
    (
        manifest.RUNNING,
        "a process works in it; if nobody holds the lock, it was killed and can be resumed",
    ),
    (manifest.INTERRUPTED, "ended by Ctrl-C; can be resumed"),
    (manifest.COMPLETE, "all trials are done"),
    (
        manifest.FAILED,
        "ended by an error, which `manifest.json` holds as `failure`; can be resumed once that is mended",
    ),
)


def page() -> str:
    """docs/reference/run-directory.md"""
    return sections(
        "# Run directory",
        "Everything of one run; `dyno report DIR` draws it again. A trial's ID is `b01-t003`: block and place in the plan. The directory is its owner's alone (mode 0700).",
        table(("file", "what"), ((code(name), text) for name, text in FILES)),
        f"Schema versions: run directory {manifest.SCHEMA_VERSION}, trial.json {record.RECORD_VERSION}. Each is a whole number, "
        "raised when an older reader would misunderstand a newer file; a reader refuses what it does not know.",
        "## Status",
        table(("status", "meaning"), ((code(name), text) for name, text in STATUS)),
        "## Schemas",
        "JSON Schema, draft 2020-12, in `schemas/`.",
        table(
            ("schema", "of"),
            ((code(path.name), _title(path)) for path in sorted(SCHEMAS.glob("*.schema.json"))),
        ),
    )


def _title(path: Path) -> str:
    schema = json.loads(path.read_text())
    title = schema.get("title", "")
    about = schema.get("description", "").partition("\n")[0]
    return f"{title}: {about}" if about else title
