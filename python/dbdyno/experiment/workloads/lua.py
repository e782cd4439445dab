"""`lua`: a script for sysbench, the user's own or a built-in one, as `dyno sysbench` runs it.

Source: `engine/sysbench/src/trial/`. Its `prepare` loads the data, its events are the transactions.
The text of the user's script becomes part of the plan; what it requires from its directory does
not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field

from dbdyno.experiment.values.scalars import Strict
from dbdyno.experiment.workloads.base import Check, Contradiction, Need, Option, Options
from dbdyno.kinds.kind import SQL

SCRIPT_MAX = 1_000_000  # characters
ROW_BYTES = 250  # of sysbench's tables with their index, about
ROWS = 10_000  # their default
OPTION_NAME = r"^[A-Za-z_][A-Za-z0-9_-]{0,62}$"
MODULES = ("oltp_common",)  # built in, and no tests of themselves
READING = (
    "oltp_point_select",
    "oltp_read_only",
    "select_random_points",
    "select_random_ranges",
)
BUILTIN = (
    *READING,
    "bulk_insert",
    "oltp_delete",
    "oltp_insert",
    "oltp_read_write",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
)

WITHIN = (
    "within an event a script decides itself what it waits for and tries again, and it cannot be"
    " stopped in the midst of one; errors to go on after are options of the script, such as"
    " `mysql-ignore-errors`"
)

Name = Annotated[str, Field(pattern=OPTION_NAME)]
Scalar = bool | int | float | str
Value = Scalar | list[Scalar]


class LuaOptions(Strict):
    """A sysbench script, your own or a built-in one."""

    script: str = Field(
        min_length=1,
        description="file, relative to the experiment's folder, or name of a built-in script",
    )
    options: dict[Name, Value] = Field(
        {},
        description="options of the script; also `rand-*`, `*-ignore-errors`, `db-ps-mode`,"
        " `validate`",
    )
    reads: bool | None = Field(
        None,
        description="whether its events only read; default: no, except for built-in scripts that"
        " only read",
    )


class Lua:
    """See the module."""

    name = "lua"
    needs = (SQL,)
    model: type[Strict] = LuaOptions
    options: tuple[Option, ...] = ()
    presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    refuses: Mapping[str, str] = MappingProxyType(
        dict.fromkeys(("think", "deadline", "retries"), WITHIN)
    )

    def read(self, options: Options, base: Path) -> dict[str, Any]:
        """The options with the script's text, and where it searches modules. DynoError never: see
        `contradictions`, which checks the result."""
        path = (base / Path(options["script"]).expanduser()).absolute()
        if not path.is_file():
            return dict(options)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return {**options, "text": None}
        return {**options, "text": text, "folder": str(path.parent)}

    def effective(self, options: Options) -> dict[str, Any]:
        return dict(options)

    def meaning(self, options: Options) -> dict[str, Any]:
        """Options of one name, however it is spelt; a script is what it says."""
        own = options.get("options", {})
        plain = {name.replace("_", "-"): value for name, value in own.items()}
        what = {"text": options["text"]} if "text" in options else {"script": options["script"]}
        return {**what, "options": plain, "reads": not self.changes_data(options)}

    def data_options(self, options: Options) -> dict[str, Any]:
        return self.sent(options)

    def changes_data(self, options: Options) -> bool:
        if options.get("reads") is not None:
            return not options["reads"]
        return "text" in options or options["script"] not in READING

    def escapes_guard(self, options: Options, kind: str) -> str:
        if "text" not in options:
            return ""
        return f"the script {options['script']} chooses its statements itself"

    def data_bytes(self, data: Options) -> int:
        """By the options of sysbench's own tests, where the script has them."""
        own = self.meaning(data)["options"]
        numbers = [own.get("table-size", ROWS), own.get("tables", 1)]
        rows, tables = (
            each if isinstance(each, int) else int(each) if str(each).isdigit() else 1
            for each in numbers
        )
        return rows * tables * ROW_BYTES

    def needs_more(self, options: Options) -> tuple[Need, ...]:
        return ()

    def contradictions(self, options: Options) -> Iterator[Contradiction]:
        script = options["script"]
        if "text" not in options and script not in BUILTIN:
            yield Contradiction(
                ("script",),
                f"there is no script {script}: neither such a file nor a built-in one",
                "paths start at the experiment's file; built in are "
                + ", ".join(f"`{name}`" for name in sorted(BUILTIN)),
            )
        elif "text" in options and options["text"] is None:
            yield Contradiction(
                ("script",),
                f"the script {script} cannot be read as text",
                "check its permissions; it must be UTF-8",
            )
        elif len(options.get("text", "")) > SCRIPT_MAX:
            yield Contradiction(
                ("script",),
                f"the script {script} is longer than {SCRIPT_MAX:,} characters",
                "move data that it carries into `setup:`",
            )

    def small(self, options: Options, rows_max: int, tables_max: int) -> dict[str, Any]:
        own = dict(options.get("options", {}))
        most = {"table-size": rows_max, "tables": tables_max}
        for name, value in own.items():
            limit = most.get(name.replace("_", "-"))
            if limit is not None and isinstance(value, int):
                own[name] = min(value, limit)
        return {**options, "options": own}

    def sent(self, options: Options) -> dict[str, Any]:
        return {name: value for name, value in options.items() if name != "reads"}

    def checks(self, options: Options) -> tuple[Check, ...]:
        return ()

    def remarks(self, options: Options) -> tuple[str, ...]:
        return ()


WORKLOAD = Lua()
