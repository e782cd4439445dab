"""What a check costs a server under load: its throughput with a check every 10 s, compared with the
same load without.

A check takes some 30 ms of the server's CPU, 0.3 % of 10 s. Trials of 10 s cannot show that: the
ratio of two of them varies by 4 to 6 %. So the loss is measured where it is, in the 2 s that begin
with a check, next to 2 s without (`checks.windows`); the other 8 s have no check.

The program that checks takes CPU time and caches from the load generator on the same CPU, which it
would not take on another host. So it runs in all windows alike, and what differs is the server that
it asks.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.proof import chart, unrest
from tools.proof.checks import planted, windows
from tools.proof.checks.checker import Checker, yield_cpu
from tools.proof.checks.servers import PASSWORD, Checked, started
from tools.proof.checks.windows import Design, Seen
from tools.proof.row import Effort, Outcome, Row, Table

from dbdyno.analysis.between_blocks.statistics import neighbours
from dbdyno.analysis.claims import crosscheck
from dbdyno.analysis.claims.contrast import Interval, LogRatio
from dbdyno.analysis.claims.equivalence import Equivalence
from dbdyno.analysis.claims.verdict import read
from dbdyno.analysis.estimates.estimate import CONFIDENCE
from dbdyno.analysis.types import SUPPORTED, UNDECIDED
from dbdyno.experiment.claims.grammar import EQUAL
from dbdyno.wording.numbers import percent

KINDS = ("mariadb", "postgres")
EVERY_S, WITHIN = 10.0, 0.01  # a check so often costs less than that share
FULL = Design(blocks=60, window_s=2.0, warmup_s=10.0, rows=10_000)
QUICK = Design(blocks=2, window_s=0.3, warmup_s=0.1, rows=100)
LATE_MAX = 0.02  # share of windows; with more, what checks cost is in windows of the other side
# Commits that wait for the disk would be limited by it, and its noise, instead of by the CPU.
DURABILITY = "os_crash_unsafe"
CHECKS, QUICK_CHECKS = 20, 1


@dataclass(frozen=True)
class Found:
    """What came of one server. `each_s`: its CPU time for one check."""

    named: str
    each_s: float
    seen: Seen

    @property
    def margin(self) -> float:
        """What `WITHIN` of `EVERY_S` is of a window."""
        return WITHIN * EVERY_S / self.seen.design.window_s

    def contrast(self, since: int = 0) -> LogRatio | None:
        """Of throughput, from a tick of the windows on; None: no ratio can be estimated."""
        logs = self.seen.log_ratios(since)
        return LogRatio(logs, 1.0) if len(logs) > 1 else None

    def read(self, interval: Interval) -> str:
        """The verdict that an interval of the windows' ratio gives."""
        return read(interval, EQUAL, 1.0, self.margin)

    @property
    def verdict(self) -> str:
        """Whether throughput is equal within the margin."""
        found = self.contrast()
        return UNDECIDED if found is None else self.read(found.interval(CONFIDENCE))

    def of_period(self, ratio: float) -> float:
        """The ratio of `EVERY_S`, of which one window has a check."""
        return 1 - (1 - ratio) * self.seen.design.window_s / EVERY_S

    def lost_ms(self, ratio: float) -> float:
        """The time in which an unchecked server commits what a check costs."""
        return 1000 * (1 - ratio) * self.seen.design.window_s

    @property
    def late(self) -> float:
        """Share of windows that their checks outlasted."""
        return self.seen.late / len(self.seen.design.checked)


def measure(effort: Effort) -> Outcome:
    """A trial with windows on each kind of server."""
    kinds = KINDS[:1] if effort.quick else KINDS
    found = []
    for kind in kinds:
        effort.say(f"    {kind}")
        found.append(_of_server(effort, kind))
    judged = not effort.quick and all(one.late <= LATE_MAX for one in found)
    cells = [_cells(one) for one in found]
    return Outcome(
        measured="; ".join(
            f"{one.named}: {row[3]} with a check every {EVERY_S:.0f} s, {one.verdict}"
            for one, row in zip(found, cells, strict=True)
        ),
        met=all(one.verdict == SUPPORTED for one in found) if judged else None,
        tables=_tables(found, cells),
        notes=tuple(_notes(found)),
        figure=_figure(found),
        figure_about="throughput after the begin of a check, of the server and of its twin",
    )


def _of_server(effort: Effort, kind: str) -> Found:
    first, *others = unrest.usable()
    design = QUICK if effort.quick else FULL
    with (
        started(kind, cpus=others or [first], durability=DURABILITY) as server,
        started(kind, cpus=[first], durability=DURABILITY) as twin,
        Checker(first, idle=not effort.quick) as checker,
    ):
        for one in (server, twin):
            _prepare(effort, one, design)
        if not effort.quick:  # during tests it might never run
            yield_cpu(twin.server.pid)
        password = _password(effort)

        def check(is_of_server: bool) -> None:
            checker.check((server if is_of_server else twin).url, password)

        for is_of_server in (False, True):  # the first ones load what they need
            check(is_of_server)
        each_s = _each_s(effort, server, check)
        cpus = [first] if others else []
        seen = windows.drive(effort, server.engine_target("shop"), design, cpus, check)
    return Found(server.named, each_s, seen)


def _prepare(effort: Effort, server: Checked, design: Design) -> None:
    """Data, and an account that may see all that checks ask for."""
    windows.fill(effort, server.engine_target("shop"), design)
    server.server.settle("shop")
    planted.permit(server.kind, server.server)
    if server.kind == "postgres":
        server.server.run_in("shop", ["GRANT SELECT ON ALL TABLES IN SCHEMA public TO app"])


def _password(effort: Effort) -> Path:
    path = effort.scratch / "password"
    path.write_text(PASSWORD)
    path.chmod(0o600)
    return path


def _each_s(effort: Effort, server: Checked, check: Callable[[bool], None]) -> float:
    """What the server's processes spend on a check."""
    before_s = _spent_s(server.server.pid)
    checks = QUICK_CHECKS if effort.quick else CHECKS
    for _ in range(checks):
        check(True)
    return (_spent_s(server.server.pid) - before_s) / checks


def _spent_s(pid: int) -> float:
    """CPU time of a server: of its main process (utime, stime), of children that have ended
    (cutime, cstime), and of those that have not been waited for; fields of proc(5)."""
    ticks = sum(_ticks(pid))
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            ticks += sum(_ticks(int(child))[:2])
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> list[int]:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return [int(field) for field in fields[11:15]]


# ---- the page


def _tables(found: Sequence[Found], cells: Sequence[tuple[str, ...]]) -> tuple[Table, ...]:
    window_s = found[0].seen.design.window_s
    return (
        Table(
            "Throughput with checks of the server over that with checks of its idle twin,"
            f" {CONFIDENCE:.0%} intervals",
            (
                "server",
                f"in {window_s:g} s that begin with a check",
                "in their second half",
                f"with a check every {EVERY_S:.0f} s",
                "lost by a check",
                "blocks of four",
                "correlation of neighbours",
                "verdict",
            ),
            tuple(cells),
        ),
        Table(
            "CPU time of the server for one check, the mean of several without load",
            ("server", "ms a check", f"of one CPU, if every {EVERY_S:.0f} s"),
            tuple(
                (one.named, f"{1000 * one.each_s:.0f}", percent(one.each_s / EVERY_S))
                for one in found
            ),
        ),
    )


def _cells(one: Found) -> tuple[str, ...]:
    whole, tail = one.contrast(), one.contrast(one.seen.design.ticks // 2)
    logs = one.seen.log_ratios()
    correlation = f"{neighbours(range(len(logs)), logs)[0]:+.2f}" if len(logs) > 2 else "-"
    return (
        one.named,
        _interval(whole, lambda ratio: ratio),
        _interval(tail, lambda ratio: ratio),
        _interval(whole, one.of_period),
        _interval(whole, one.lost_ms, "{:.0f}", " ms"),
        str(len(logs)),
        correlation,
        one.verdict,
    )


def _interval(
    contrast: LogRatio | None,
    of: Callable[[float], float],
    form: str = "{:.4f}",
    unit: str = "",
) -> str:
    if contrast is None:
        return "-"
    ends = contrast.interval(CONFIDENCE)
    low, high = sorted(of(end) for end in ends if end is not None)
    centre, low_end, high_end = (form.format(value) for value in (of(contrast.centre), low, high))
    return f"{centre}{unit} ({low_end} to {high_end})"


def _notes(found: Sequence[Found]) -> list[str]:
    design = found[0].seen.design
    late, total = sum(one.seen.late for one in found), sum(len(one.seen.commits) for one in found)
    return [
        f"Cost means: a check of all packs begins every {EVERY_S:.0f} s, and throughput over all of"
        f" that time is compared with the same load without checks. The loss is measured in the"
        f" {design.window_s:g} s that begin with a check, {_margin(design)} of which are"
        f" {percent(WITHIN)} of {EVERY_S:.0f} s. What outlasts them would show in the second half.",
        "`dyno` itself is loaded before, and checks in all windows on the load generator's CPU,"
        " while that has nothing else to do: where the server is not checked, its twin is, which is"
        " idle and has that CPU too.",
        f"{late} of {total} checks ended after their window"
        + (f": not judged with more than {percent(LATE_MAX)}." if late else "."),
        *(note for one in found for note in _disagreements(one)),
    ]


def _margin(design: Design) -> str:
    """How much of a window may be lost, for people."""
    return percent(WITHIN * EVERY_S / design.window_s)


def _disagreements(one: Found) -> list[str]:
    """Other methods that would give another verdict; they do not decide."""
    inner = one.contrast()
    if inner is None:
        return []
    contrast, verdict = Equivalence(inner, one.margin), one.verdict
    made = crosscheck.checks(contrast, CONFIDENCE, verdict, one.read, windows.SEED)
    return [
        f"{one.named}: the cross-check by {check.method} does not lead to this verdict."
        for check in made
        if not check.agrees
    ]


def _figure(found: Sequence[Found]) -> str:
    courses = {
        one.named: [(at_s, 100 * ratio) for at_s, ratio in one.seen.course()] for one in found
    }
    if not any(courses.values()):
        return ""
    least = min(percents for course in courses.values() for _, percents in course)
    return chart.lines(
        "Throughput with a check of the server, % of that with one of its twin",
        courses,
        across="seconds from the begin of the check",
        up="%",
        floor=min(90.0, 10.0 * (least // 10)),
    )


ROW = Row(
    name="check_cost",
    claim="A check costs a loaded server nothing that its clients notice",
    how=(
        "One long trial on MariaDB and one on PostgreSQL, under a load that the CPU of the server"
        " limits, cut into windows of 2 s. A check begins with each window: of this server, or of"
        " an idle twin. Of each four windows either the first and the last or the two between have"
        " the check of the server, which is drawn by lot; the logarithm of their throughput over"
        " that of the other two is one value of a t interval."
    ),
    bar=(
        "with a check of all packs every 10 s, throughput equivalent within 1 % (whole 95 %"
        " interval)"
    ),
    before=(
        "undecided after 30 blocks of trials of 10 s with a check in each: 0.980 to 1.026 on"
        " MariaDB and 0.984 to 1.010 on PostgreSQL (commit c6786a2e); in windows, but at the"
        " priority of small programs next to it: 0.991 to 0.999 (supported) and 0.986 to 1.003"
        " (undecided)"
    ),
    measure=measure,
    timed=True,
)
