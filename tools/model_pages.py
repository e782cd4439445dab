"""Writes docs/models/ from the models' own files, so that a page says what is computed.

`make reference` rewrites the pages; `--check` only says which are stale (exit code 1), which is
what `tests/contract/test_models.py` asks.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from reference_pages.markdown import NOTE, block, cell, code, sections, table

from dbdyno import models
from dbdyno.models import calculate, given, kinds
from dbdyno.models.model import Golden, Input, Model
from dbdyno.report.models import tables
from dbdyno.wording.models import words

FOLDER = Path(__file__).parents[1] / "docs" / "models"
# What must exist; the index lists those that are missing.
PLANNED = (
    *("wiredtiger-cache", "mongodb-memory", "quorum", "placement", "cluster-timeline"),
    *("certification", "monitoring-size", "cost", "parallel-replication", "covering-index"),
    *("document-overhead", "innodb-growth", "retention", "upload", "commit-ceiling"),
    *("consistency", "redis-restart", "storage-waste", "stall-period", "claims"),
)


def pages() -> dict[str, str]:
    """File name -> text of every page, the index included."""
    found = {name: models.load(name) for name in models.names()}
    texts = {f"{name}.md": f"{_page(model).rstrip()}\n" for name, model in found.items()}
    texts["README.md"] = f"{_index(list(found.values()))}\n"
    return texts


def _index(found: list[Model]) -> str:
    return sections(
        "# Models",
        NOTE,
        "What can be computed instead of measured. A model is a pure function with units: its file"
        " in `python/dbdyno/models/catalog/` holds the formula in its docstring, and that text is"
        " what is computed. How to use them: [the guide](../guide/models.md).",
        table(
            ("model", "question"),
            ((f"[{one.name}]({one.name}.md)", one.document.question) for one in found),
        ),
        _missing(found),
    )


def _missing(found: list[Model]) -> str:
    """What was planned and is not there, and what has not been compared with reality."""
    there = {one.name for one in found}
    lines = [f"- models: {', '.join(name for name in PLANNED if name not in there)}"]
    lines = lines if set(PLANNED) - there else []
    measured = ", ".join(one.name for one in found if one.measured)
    lines.append(
        f"- pages that compare the model with a measurement: only {measured}; speed to S3 was not"
        " measured, nor was any mongod (WiredTiger's files are, without it)"
    )
    lines.append(
        "- `--from` reads option files, YAML, redis.conf, and MySQL's and MariaDB's servers; not"
        " those of MongoDB, PostgreSQL and Redis"
    )
    return "\n".join(["## Not there yet", "", *lines])


def _page(model: Model) -> str:
    document = model.document
    return sections(
        f"# {model.name}",
        NOTE,
        f"*{document.question}*",
        *document.prose,
        "## Formula",
        block("\n".join(f"{step.name} = {step.expression.text}" for step in document.steps)),
        _functions(model),
        table(
            ("input", "kind", "default", "range", "meaning"),
            (_input(one) for one in model.inputs),
        ),
        table(
            ("computed", "kind", "meaning"),
            (
                (
                    f"**{code(step.name)}**" if step.name in model.outputs else code(step.name),
                    step.kind.name,
                    cell(step.about),
                )
                for step in document.steps
            ),
        ),
        _said("Said with an answer:", [note.text for note in model.notes]),
        _said("Refused:", [note.text for note in model.refusals]),
        "## Trap",
        *document.trap,
        "## Golden numbers",
        "Each is a test. A figure is right if what is computed rounds to it.",
        table(("given", "gives", "from"), (_golden(one) for one in model.golden)),
        *_reality(model),
        "## Example",
        block(_call(model, model.golden[0]) + "\n" + _answer(model, model.golden[0])),
        "## Where it holds",
        *document.assumptions,
        *document.versions,
        "## Source",
        *document.source,
    )


def _functions(model: Model) -> str:
    lines = [
        f"- {code(name + '(' + ', '.join(inspect.signature(of).parameters) + ')')}:"
        f" {inspect.getdoc(of)}"
        for name, of in model.functions.items()
    ]
    return "\n".join(["where", "", *(" ".join(line.split()) for line in lines)]) if lines else ""


def _input(one: Input) -> tuple[str, ...]:
    kind = one.kind_name if not one.words else " or ".join(map(code, one.words))
    ends = (f"from {one.low}" if one.low else "", f"to {one.high}" if one.high else "")
    reads = ", ".join(code(place.partition(":")[0]) for place in (*one.variables, *one.paths))
    about = cell(one.about) + (f"; `--from`: {reads}" if reads else "")
    return (
        code(one.name),
        f"list of {kind}" if one.many else kind,
        code(one.default) if one.default is not None else "required",
        " ".join(filter(None, ends)),
        about,
    )


def _said(head: str, texts: list[str]) -> str:
    return (
        "\n".join([head, "", *(f"- {text.replace('{', '`').replace('}', '`')}" for text in texts)])
        if texts
        else ""
    )


def _golden(one: Golden) -> tuple[str, str, str]:
    given_ = " ".join(f"{name}={given.quoted(text)}" for name, text in one.given.items())
    gives = ", ".join(f"{name} {text}" for name, text in one.gives.items())
    return code(given_) or "defaults", cell(gives), cell(one.source)


def _reality(model: Model) -> list[str]:
    """Model and measurement side by side."""
    if not model.measured:
        return []
    rows = []
    for one in model.measured:
        answer = calculate.answer(model, given.take(model, one.given, {}))
        for name, text in one.gives.items():
            kind, value = model.kind_of(name), answer.values[name]
            there, _ = kinds.as_written(kind, text)
            assert isinstance(value, float)
            away = f"{(value / there - 1) * 100:+.1f} %".replace("-", "−")
            inputs_ = " ".join(f"{key}={given.quoted(typed)}" for key, typed in one.given.items())
            asked = ", ".join(filter(None, (code(inputs_), one.label)))
            rows.append((asked, name, words.shown(kind, value), words.shown(kind, there), away))
    return [
        "## Compared with reality",
        model.measured_on,
        table(("given", "of", "model", "measured", "difference"), rows),
    ]


def _call(model: Model, one: Golden) -> str:
    return " ".join(
        [
            f"$ dyno model {model.name}",
            *(f"{name}={given.quoted(text)}" for name, text in one.given.items()),
        ]
    )


def _answer(model: Model, one: Golden) -> str:
    """The sentence, and the table of outputs in its plainest form."""
    answer = calculate.answer(model, given.take(model, one.given, {}))
    values = words.all_shown(answer)
    rows = [f"{name:<20} {value}" for name, value, _ in tables.outputs(answer, values)]
    notes = [f"note: {note}" for note in words.notes(answer, values)]
    return "\n".join([words.sentence(answer, values), *notes, "", *rows])


def stale(wanted: dict[str, str]) -> list[str]:
    """Names of pages that differ from what is on disk, and of files that are no page."""
    there = {path.name for path in FOLDER.glob("*.md")}
    differ = {name for name, text in wanted.items() if _read(FOLDER / name) != text}
    return sorted(differ | (there - wanted.keys()))


def _read(path: Path) -> str | None:
    return path.read_text() if path.is_file() else None


def main(arguments: list[str]) -> int:
    """Writes or checks; returns the exit code."""
    if arguments not in ([], ["--check"]):
        print("usage: tools/model_pages.py [--check]", file=sys.stderr)
        return 2
    wanted = pages()
    changed = stale(wanted)
    for name in changed:
        if arguments:
            print(f"docs/models/{name} is stale: run `make reference`", file=sys.stderr)
        elif name in wanted:
            (FOLDER / name).write_text(wanted[name])
        else:
            (FOLDER / name).unlink()
    return 1 if arguments and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
