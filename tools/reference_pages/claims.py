"""The grammar of claims, from the module that implements it."""

from __future__ import annotations

import inspect
import textwrap

from dbdyno.analysis import types
from dbdyno.analysis.estimates.estimate import BLOCKS_MIN
from dbdyno.experiment.claims import grammar as claims
from reference_pages.markdown import block, code, sections, table

VERDICTS = {
    types.SUPPORTED: "the whole interval lies on the claimed side; of `~=`, within the margin",
    types.REFUTED: "the whole interval lies on the other side; of `~=`, outside the margin",
    types.UNDECIDED: "the interval holds both sides, or an end of the margin; or no judgement is possible: a zero or an outage in a "
    f"compared cell, fewer than {BLOCKS_MIN} blocks, a `--quick` run",
    types.NOT_TESTED: "the machine does not have what `needs:` asks for, or a system is missing",
}

COUNTS = """What an audit or the examination of a router counts (`audit.lost`, `routing.misrouted`, ...) is judged by trials where a claim
sets it a limit (`< 1`, `<= 0`, `< 100`) or says that there is some (`>= 1`, `> 0`): one with any decides, after any number of blocks; zeros support that there is none once they bound the share
of trials with any to a half, and never refute that there is some; the verdict states that bound. Two such counts with a zero among them are compared by the number of trials in which the
comparison holds. [The guide](../guide/claims.md#is-there-any-at-all) has the numbers, [this](../decisions/single-values.md) the reasons."""

EQUALITY = """`tps[on] ~= tps[off] within 3%` is supported only if the whole interval lies between 1/1.03 and 1.03: that no difference was
found shows nothing. Left undecided, it says within how much the run could have shown equality. `1.02 * tps[off]` on the right moves the middle;
`p95[on] ~= 5 within 10%` holds one quantity against a number. Not for `peak(...)`, which comes in steps, nor for zero.
[Why so](../decisions/equivalence.md)."""

WORDS = """`{claim: "tps[off] > 1.5 * tps[on]", say: "Without the query cache throughput is at least half as much again"}` gives a claim words for
readers. They appear behind the verdict (`Refuted: Without the query cache ...`), with the claim itself below. Nothing checks that they mean what the claim
means. `result.json` has them as `say`; a redacted run has none."""

CHECKS = """Two other methods are shown next to each verdict, in the details of a claim and as `checks` in `result.json`: the p of a
permutation of signs, where the number of blocks allows it to reach the level asked for, and from 12 blocks on the BCa bootstrap interval.
They never decide; where one leads to another verdict, the claim says so. [Why so](../decisions/cross-checks.md)."""

SWEEPS = """Each numeric factor of three levels or more is also analysed as a whole, at each combination of the others' levels: where throughput
peaks, which levels do not differ significantly from the best one, and of a load (sessions, rate) the knee, N* = X(best) / (X(first) / N(first)). A claim
such as `p95 <= 20 at sessions=16` sets a limit of which the report says up to which level it holds. [Why so](../decisions/knee-and-peak.md)."""

REQUIRE = """An entry of `require:` is `metric operator number`, without selectors, since it holds for every trial alike:
`status.Created_tmp_disk_tables <= 10`. A trial that does not meet it is void: it is kept and shown, and run again at most
twice. A verdict must hold with the values of void attempts and without them. Outcomes of the
workload are refused."""


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
        "## Is there any at all",
        COUNTS,
        "## Words",
        WORDS,
        "## Equality",
        EQUALITY,
        "## Other methods",
        CHECKS,
        "## Peak, knee, limits",
        SWEEPS,
        "## Conditions",
        REQUIRE,
    )
