"""Writes a redacted copy of a run directory: what a report or a bundle is then made from.

The run is walked twice, first to meet every name and then to replace them, since a text may hold a
name that only a later one reveals. Of its files only those are copied that are understood here;
what the engine was given, logs and outputs of commands are not.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from dbdyno import diskfiles
from dbdyno.audit.findings import Audit, NodeCounts
from dbdyno.audit.histories.findings import Findings, HistoryNode
from dbdyno.errors import DynoError
from dbdyno.plan.claims import resolved_claims
from dbdyno.plan.stored import json as plan_json
from dbdyno.share.redact import aliases as table
from dbdyno.share.redact.claims import metric
from dbdyno.share.redact.plan import keyed
from dbdyno.share.redact.plan import plan as redacted_plan
from dbdyno.share.redact.texts import LEFT_OUT, Texts
from dbdyno.store import record
from dbdyno.store.manifest import MANIFEST
from dbdyno.store.record import NO_PLAN, TrialRecord
from dbdyno.store.run import EVENTS, HISTOGRAMS, SAMPLES, TRIAL, Run
from dbdyno.store.text import files

# Facts of an environment whose texts are about the machine's kind, not about whose it is.
_ENVIRONMENT = frozenset(
    {
        *("dbdyno", "python", "kernel", "architecture", "os", "cpu_model", "clocksource"),
        *("governor", "storage", "systems", "kind", "version", "versions", "transparent_hugepage"),
        *("check", "state", "effect", "cure"),  # of a check of the machine; what was seen is not
    }
)
N = TypeVar("N", NodeCounts, HistoryNode)
_TAG = re.compile(r"^Tag=([^,]*),")
_WORDS = frozenset({"event", "phase", "kind", "status", "trial", "engine_version", "outcome"})


def redacted(run: Run, directory: Path) -> Run:
    """A redacted copy of `run` in an empty directory, opened for reading.

    Aliases given before are taken from the run's directory and kept there, where it can be written.
    DynoError if aliases and names collide.
    """
    aliases = table.load(run.path, table.looking_alike(_raw(run)))
    writer = _Redaction(run, Texts(aliases))
    writer.write(None)  # to learn all names
    writer.write(directory)
    if run.path.stat().st_mode & 0o200:
        # Somebody else's run: the same names get the same aliases anyway.
        with contextlib.suppress(DynoError):
            table.save(run.path, aliases)
    made = Run.open(directory)
    _check_claims(made)
    return made


class _Redaction:
    def __init__(self, run: Run, texts: Texts) -> None:
        self._run = run
        self._texts = texts

    def write(self, to: Path | None) -> None:
        """Writes all files into `to`; without it, everything is done but writing."""
        self._json(to, MANIFEST, self._manifest())
        for one in self._run.records():
            place = f"trials/{one.id}"
            self._json(to, f"{place}/{TRIAL}", record.to_json(self._record(one)))
            source = self._run.trial_dir(one.id)
            self._lines(to, f"{place}/{EVENTS}", map(self._event, self._run.each_event(one.id)))
            self._lines(to, f"{place}/{SAMPLES}", map(self._sample, self._run.each_sample(one.id)))
            self._histograms(to, f"{place}/{HISTOGRAMS}", source / HISTOGRAMS)
        for nth, one in enumerate(self._run.voided(), start=1):
            self._json(to, f"trials/{one.id}.void-{nth}/{TRIAL}", record.to_json(self._record(one)))
        commands = list(files.read_ndjson(self._run.path / "hooks.ndjson"))
        if commands:
            self._lines(to, "hooks.ndjson", map(self._command, commands))

    # -- files -----------------------------------------------------------------------------------

    def _manifest(self) -> dict[str, Any]:
        manifest = self._run.manifest
        kept: dict[str, Any] = {
            key: manifest[key]
            for key in ("schema_version", "status", "created_unix_s", "updated_unix_s", "versions")
            if key in manifest
        }
        plan = redacted_plan(self._texts, self._run.plan)
        if isinstance(imported := manifest.get("imported"), Mapping):
            kept["imported"] = {"files": [self._source(one) for one in imported.get("files", ())]}
        return {
            **kept,
            "experiment": plan.name,
            "sessions": [
                {
                    "pid": session.get("pid", 0),
                    "started_unix_s": session.get("started_unix_s", 0.0),
                    "dbdyno": session.get("dbdyno", ""),
                    "environment": self._environment(session.get("environment", {})),
                }
                for session in manifest.get("sessions", [])
            ],
            "environment": self._environment(manifest["environment"]),
            "plan": plan_json.to_json(plan),
        }

    def _source(self, file: Mapping[str, Any]) -> dict[str, str]:
        """A file that was imported; its checksum would identify it to an owner of the file."""
        path, tool = str(file.get("path", "")), str(file.get("tool", ""))
        return {"path": self._texts.path(path), "tool": self._texts.prose(tool), "sha256": ""}

    def _record(self, one: TrialRecord) -> TrialRecord:
        texts = self._texts
        statements = {texts.label(key): texts.sql(sql) for key, sql in one.statements.items()}
        explain = {texts.label(key): self._explain(text) for key, text in one.explain.items()}
        changed: dict[str, Any] = {
            "metrics": keyed({metric(texts, k): v for k, v in one.metrics.items()}, one.metrics),
            "warnings": tuple(texts.prose(text) for text in one.warnings),
            "outages": tuple(self._event(outage) for outage in one.outages),
            "faults": tuple(self._fault(fault) for fault in one.faults),
            "roles": tuple(self._role(change) for change in one.roles),
            "statements": keyed(statements, one.statements),
            "explain": keyed(explain, one.explain),
            "targets": {texts.label(k): self._target(v) for k, v in one.targets.items()},
            "audit": {texts.label(k): self._audit(v, k) for k, v in one.audit.items()},
            "routing": {texts.label(k): v for k, v in one.routing.items()},  # dbdyno's own words
            "histories": {texts.label(k): self._history(v, k) for k, v in one.histories.items()},
            "void_reason": texts.prose(one.void_reason),
        }
        known = {*changed, "id", "block", "cell", "status", "started_unix_s"}
        for field in fields(one):
            if field.name == "bounds":
                changed["bounds"] = {metric(texts, k): v for k, v in one.bounds.items()}
            elif field.name not in known:
                changed[field.name] = self._unknown(getattr(one, field.name), field.name)
        return one.replace(**changed)

    def _fault(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        made = {**facts, "node": self._texts.label(facts["node"])}
        if links := facts.get("links"):
            made["links"] = self._texts.label(links)
        if problem := facts.get("problem"):
            made["problem"] = self._texts.whole("message", problem)
        return made

    def _role(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        said = facts["said"] and self._texts.whole("message", facts["said"])
        return {**facts, "node": self._texts.label(facts["node"]), "said": said}

    def _audit(self, audit: Audit, target: str) -> Audit:
        return replace(audit, nodes=tuple(self._node(node, target) for node in audit.nodes))

    def _history(self, found: Findings, target: str) -> Findings:
        """Its examples name sessions and numbers only, if nobody has changed them."""
        texts = self._texts
        return replace(
            found,
            nodes=tuple(self._node(node, target) for node in found.nodes),
            why=found.why and texts.prose(found.why),
            grounds=tuple(map(texts.prose, found.grounds)),
            examples={name: texts.prose(text) for name, text in found.examples.items()},
        )

    def _node(self, node: N, target: str) -> N:
        """Nodes are called by their target's name, and a suffix of dbdyno's."""
        name = self._texts.label(target) + node.name.removeprefix(target)
        return replace(node, name=name, why=node.why and self._texts.whole("message", node.why))

    def _explain(self, text: str) -> str:
        if text.startswith(NO_PLAN):
            return NO_PLAN + self._texts.whole("message", text.removeprefix(NO_PLAN))
        return self._texts.explain(text)

    def _target(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        texts, made = self._texts, dict[str, Any]()
        for key, value in facts.items():
            if key in ("kind", "version"):
                made[key] = texts.prose(str(value))
            elif key in ("settings", "asked"):
                made[key] = self._settings(value)
            elif key == "session_sql":
                made[key] = [texts.sql(sql) for sql in value]
            elif key in ("network", "network_of_nodes"):
                made[key] = {name: one for name, one in value.items() if not isinstance(one, str)}
            elif key == "volume":
                made[key] = dict(value)
            elif key == "words":
                made[key] = [
                    {
                        "word": texts.prose(word["word"]),
                        "settings": self._settings(word.get("settings", {})),
                        "note": texts.prose(word.get("note", "")),
                    }
                    for word in value
                ]
            else:
                made[key] = self._unknown(value, key)
        return made

    def _settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: self._texts.setting(name, value) if isinstance(value, str) else value
            for name, value in settings.items()
        }

    def _environment(self, value: Any, key: str = "") -> Any:
        if isinstance(value, Mapping):
            inner = key if key in _ENVIRONMENT else ""  # `systems`: kind (and place) to version
            return {
                self._texts.prose(k): self._environment(v, inner or k) for k, v in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._environment(item, key) for item in value]
        if not isinstance(value, str):
            return value
        if key in _ENVIRONMENT or re.fullmatch(r"[\d.]+", value):
            return self._texts.prose(value)
        if value.startswith("/"):
            return self._texts.path(value)
        return self._whole(value)

    def _event(self, event: Mapping[str, Any]) -> dict[str, Any]:
        texts, made = self._texts, dict[str, Any]()
        for key, value in event.items():
            if key == "sql":
                made[key] = texts.sql(value)
            elif key in ("group", "class"):
                made[key] = texts.label(value)
            elif key in ("message", "what", "hint"):
                own = event.get("event") == "warning"
                made[key] = texts.prose(value) if own else texts.whole("message", value)
            elif key == "cause":
                made[key] = texts.prose(value)
            elif key == "table":
                made[key] = texts.name("table", value)
            elif key == "rows" and isinstance(value, Mapping):
                made[key] = {texts.name("table", name): rows for name, rows in value.items()}
            else:
                made[key] = self._unknown(value, key)
        return made

    def _sample(self, sample: Mapping[str, Any]) -> dict[str, Any]:
        made = dict(sample)
        if "source" in made:
            head, dot, rest = made["source"].partition(".")
            made["source"] = self._texts.label(head) + dot + rest if dot else head
        if "gap" in made:
            made["gap"] = self._texts.prose(str(made["gap"]))
        return made

    def _command(self, ran: Mapping[str, Any]) -> dict[str, Any]:
        """A command around trials: when and how it ended. Its output is not copied."""
        made = {key: self._unknown(value, key) for key, value in ran.items()}
        for key, rule in (("point", str), ("of", self._texts.label), ("trial", str)):
            if isinstance(ran.get(key), str):
                made[key] = rule(ran[key])
        if isinstance(ran.get("run"), str):
            made["run"] = self._texts.whole("command", ran["run"])
        if isinstance(ran.get("on"), str):
            made["on"] = self._texts.url(ran["on"])
        if "log" in ran:
            made["log"] = ""
        return made

    def _unknown(self, value: Any, key: str) -> Any:
        """Numbers stay, keys are labels, texts go unless the key marks it as a word of dbdyno."""
        if isinstance(value, Mapping):
            made = {self._texts.label(str(k)): self._unknown(v, str(k)) for k, v in value.items()}
            return keyed(made, value)
        if isinstance(value, list | tuple):
            return [self._unknown(item, key) for item in value]
        if isinstance(value, str):
            return value if key in _WORDS else self._whole(value)
        return value

    def _whole(self, text: str) -> str:
        return self._texts.whole("text", text)

    # -- writing ---------------------------------------------------------------------------------

    def _json(self, to: Path | None, name: str, value: Any) -> None:
        text = files.dumps(value)
        if to is not None:
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            diskfiles.write_text(to / name, text)

    def _lines(self, to: Path | None, name: str, values: Iterator[dict[str, Any]]) -> None:
        if to is None:
            for _ in values:
                pass
            return
        with diskfiles.opened_text(to / name, "x") as file:
            for value in values:
                file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")

    def _histograms(self, to: Path | None, name: str, source: Path) -> None:
        if to is None or not source.is_file():
            return
        with (
            io.TextIOWrapper(diskfiles.opened(source), encoding="utf-8") as lines,
            diskfiles.opened_text(to / name, "x") as file,
        ):
            for line in lines:
                if line.startswith("Tag="):
                    file.write(_TAG.sub(lambda tag: f"Tag={self._texts.label(tag[1])},", line))
                elif line.startswith(("#[Histogram log", "#[StartTime", '"StartTimestamp"')):
                    file.write(line)


def _raw(run: Run) -> Iterator[str]:
    """All texts that may have a name of an alias's form."""
    yield json.dumps(run.manifest, ensure_ascii=False)
    for one in run.records():
        yield json.dumps(record.to_json(one), ensure_ascii=False)
        for event in run.each_event(one.id):
            if event.get("event") != "interval":
                yield json.dumps(event, ensure_ascii=False)


def _check_claims(run: Run) -> None:
    try:
        resolved_claims(run.plan)
    except DynoError as error:
        raise DynoError(
            f"with aliases in it a claim cannot be read: {error.what}",
            cause="a metric or factor has the name of a host, user, schema or table",
            fix="rename it in the experiment's file and run it again",
        ) from None


__all__ = ["LEFT_OUT", "redacted"]
