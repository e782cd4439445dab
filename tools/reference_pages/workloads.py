"""Every workload: options, limits, defaults, presets."""

from __future__ import annotations

from dbdyno.spec import workloads
from reference_pages.engine import listed
from reference_pages.markdown import code, sections, table


def page() -> str:
    """docs/reference/workloads.md"""
    abouts = {entry["name"]: entry["about"] for entry in listed()["workloads"]}
    return sections(
        "# Workloads",
        "Options stand beside `kind:` in a group. A level of a factor may patch any of them.",
        *(_workload(name, abouts[name]) for name in workloads.WORKLOADS),
    )


def _workload(name: str, about: str) -> str:
    return sections(
        f"## {name}",
        f"{about[0].upper()}{about[1:]}.",
        table(
            ("option", "values", "default", "meaning", "changes the data"),
            (_row(option) for option in workloads.options_of(name)),
        ),
        "### Presets",
        "A preset gives counts to start from; what it does not name is 0. `skip_trx` leaves out begin and commit.",
        table(
            ("preset", "a transaction"),
            ((code(preset), _counts(preset)) for preset in workloads.PRESETS),
        ),
    )


def _row(option: workloads.Option) -> tuple[str, ...]:
    about = option.about
    if option.of_distribution:
        about += f"; only with `distribution: {option.of_distribution}`"
    return code(option.name), _values(option), _default(option), about, "yes" if option.data else ""


def _values(option: workloads.Option) -> str:
    if option.words:
        return ", ".join(code(word) for word in option.words)
    if option.low is None or option.high is None:
        return {workloads.FLAG: "`true`, `false`"}.get(option.type, option.type)
    return f"{option.type}, {option.low:,} to {option.high:,}"


def _default(option: workloads.Option) -> str:
    if option.default is not None:
        return code(option.default) if option.default != "" else ""
    counted = option.name in workloads.COUNTS or option.name == "skip_trx"
    return "from the preset" if counted else ""


def _counts(preset: str) -> str:
    counts = workloads.PRESETS[preset]
    return ", ".join(f"{code(name)} {str(value).lower()}" for name, value in counts.items())
