"""What wrappers search in sysbench's text: expressions as they are written all over the field.

Sources: the text that sysbench 1.0.20 prints, and its manual.
"""

from __future__ import annotations

import re

NUMBER = r"([\d.]+)"

# By what a wrapper calls it: an expression with numbers as groups.
PATTERNS: dict[str, str] = {
    "interval of statements": (
        rf"^\[ (\d+)s \] thds: (\d+) tps: {NUMBER} qps: {NUMBER} "
        rf"\(r/w/o: {NUMBER}/{NUMBER}/{NUMBER}\) lat \(ms,(\d+)%\): {NUMBER} "
        rf"err/s:? {NUMBER} reconn/s: {NUMBER}$"
    ),
    "interval of events": rf"^\[ (\d+)s \] thds: (\d+) eps: {NUMBER} lat \(ms,(\d+)%\): {NUMBER}$",
    "interval of files": (
        rf"^\[ (\d+)s \] reads: {NUMBER} MiB/s writes: {NUMBER} MiB/s fsyncs: {NUMBER}/s "
        rf"latency \(ms,(\d+)%\): {NUMBER}$"
    ),
    "interval of memory": rf"^\[ (\d+)s \] {NUMBER} MiB/sec$",
    "threads": r"^Number of threads: (\d+)$",
    "read": r"^\s+read:\s+(\d+)$",
    "write": r"^\s+write:\s+(\d+)$",
    "other": r"^\s+other:\s+(\d+)$",
    "all statements": r"^\s+total:\s+(\d+)$",
    "transactions": rf"transactions:\s+(\d+)\s+\({NUMBER} per sec\.\)",
    "queries": rf"queries:\s+(\d+)\s+\({NUMBER} per sec\.\)",
    "ignored errors": rf"ignored errors:\s+(\d+)\s+\({NUMBER} per sec\.\)",
    "reconnects": rf"reconnects:\s+(\d+)\s+\({NUMBER} per sec\.\)",
    "events per second": rf"events per second:\s+{NUMBER}$",
    "operations": rf"^Total operations: (\d+) \(\s*{NUMBER} per second\)$",
    "transferred": rf"^{NUMBER} MiB transferred \({NUMBER} MiB/sec\)$",
    "reads of files": rf"reads/s:\s+{NUMBER}",
    "writes of files": rf"writes/s:\s+{NUMBER}",
    "fsyncs of files": rf"fsyncs/s:\s+{NUMBER}",
    "throughput of reading": rf"read, MiB/s:\s+{NUMBER}",
    "throughput of writing": rf"written, MiB/s:\s+{NUMBER}",
    "total time": rf"total time:\s+{NUMBER}s",
    "total events": r"total number of events:\s+(\d+)",
    "minimum": rf"^\s+min:\s+{NUMBER}$",
    "mean": rf"^\s+avg:\s+{NUMBER}$",
    "maximum": rf"^\s+max:\s+{NUMBER}$",
    "percentile": rf"^\s+(\d+)(?:st|nd|rd|th) percentile:\s+{NUMBER}$",
    "sum": rf"^\s+sum:\s+{NUMBER}$",
    "fairness of events": rf"events \(avg/stddev\):\s+{NUMBER}/{NUMBER}",
    "fairness of time": rf"execution time \(avg/stddev\):\s+{NUMBER}/{NUMBER}",
}


def found(text: str) -> dict[str, list[tuple[float, ...]]]:
    """The numbers of each pattern that occurs, one tuple an occurrence."""
    every: dict[str, list[tuple[float, ...]]] = {}
    for name, pattern in PATTERNS.items():
        rows = [match.groups() for match in re.finditer(pattern, text, re.MULTILINE)]
        if rows:
            every[name] = [tuple(float(number) for number in row) for row in rows]
    return every


def skeleton(text: str) -> list[str]:
    """The lines without their numbers, the widths of columns and bars, the program's name apart; of
    lines of one kind that follow each other the first."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("sysbench "):
            continue
        bare = re.sub(r"\|[* ]*", "| ", re.sub(r"\d+", "N", line))
        bare = re.sub(r" +", " ", bare).rstrip()
        if not lines or lines[-1] != bare:
            lines.append(bare)
    return lines
