"""The grammar of claims, from the module that implements it."""

from __future__ import annotations

import inspect
import textwrap

from dbdyno.analysis import types
from dbdyno.analysis.estimate import BLOCKS_MIN
from dbdyno.spec import claims
from reference_pages.markdown import block, code, sections, table

VERDICTS = {
    types.SUPPORTED: "the whole interval lies on the claimed side",
    types.REFUTED: "the whole interval lies on the other side",
    types.UNDECIDED: "the interval holds both sides; or nothing may be said: a zero or an outage in a "
    f"compared cell, fewer than {BLOCKS_MIN} blocks, a `--quick` run",
    types.NOT_TESTED: "the machine lacks what `needs:` asks for, or a system is missing",
}

REQUIRE = """An entry of `require:` is `metric operator number`, without selectors, since it holds for every trial alike:
`status.Created_tmp_disk_tables <= 10`. A trial that does not meet it is void: it is kept and shown, never used, and run again
at most twice."""


def page() -> str:
    """docs/reference/claims.md"""
    title, _, rest = inspect.cleandoc(claims.__doc__ or "").partition("\n\n")
    grammar, _, prose = rest.partition("\n\n")
    return sections(
        "# Claims",
        title,
        block(textwrap.dedent(grammar)),
        prose,
        f"Operators: {', '.join(code(operator) for operator in claims.OPERATORS)}. A claim stands for at most "
        f"{claims.PARTS_MAX} comparisons (`each`). The guide on [claims](../guide/claims.md) has examples.",
        "## Verdicts",
        table(("verdict", "meaning"), ((code(v), text) for v, text in VERDICTS.items())),
        "## Conditions",
        REQUIRE,
    )
