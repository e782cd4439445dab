"""Custom resources of database operators: memory, its units, and the cache made of it.

A quantity of Kubernetes is decimal in `G` and binary in `Gi`; `m` is a thousandth, so `512m` of
memory is half a byte. The operator for MongoDB sizes the cache as ratio x (limit - 1 GiB), prints
it with two decimals, and passes it only with a memory limit.

Sources: the Kubernetes documentation, "Resource Management for Pods and Containers" (meaning of
memory) and "Quantity"; the Percona operators' `cr.yaml` and documentation of options; the model
`wiredtiger-cache`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dbdyno.facts.fact import Facts
from dbdyno.rules.check.platform.manifest import Object, objects, rule
from dbdyno.rules.check.rule import Found, edits

_QUANTITY = re.compile(r"([+-]?\d+(?:\.\d+)?)(m|[kMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?")
_BYTES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BYTES |= {f"{unit}i": 1024.0 ** (i + 1) for i, unit in enumerate("KMGTPE")}
_MEMORY = r".*\.(limits|requests)\.memory$|.*\.resources\.requests\.storage$"
_RATIO = r".*storage\.wiredTiger\.engineConfig\.cacheSizeRatio$"
_DATABASES = {  # kind -> where members with data have their resources
    "PerconaServerMongoDB": r"spec\.replsets\[\d+\]",
    "PerconaXtraDBCluster": r"spec\.pxc",
    "PerconaServerMySQL": r"spec\.mysql",
    "PerconaPGCluster": r"spec\.instances\[\d+\]",
}
_QUANTITIES = "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/"


def quantity(text: str) -> float | None:
    """A quantity as a number (of bytes); None if it is none."""
    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        return None
    unit = found[2] or ""
    if unit == "m":
        return float(found[1]) / 1000
    if unit[:1] in "eE" and unit[1:]:
        return float(found[1]) * 10.0 ** int(unit[1:]) if unit != "Ei" else float(found[1]) * 2**60
    return float(found[1]) * _BYTES[unit]


def _units(facts: Facts) -> Iterator[Found]:
    for one in objects(facts):
        for path in one.paths(_MEMORY):
            text = one.value(path)
            size = quantity(text) if text else None
            if not text or (size is not None and size >= 2**20 and not _decimal(path, text)):
                continue
            yield _of_unit(one, path, text, size)


def _decimal(path: str, text: str) -> bool:
    """A limit of memory in powers of 1000: servers size their caches by it. Disks are sold that
    way, and requests only place pods."""
    return path.endswith("limits.memory") and text[-1:] in ("k", "M", "G", "T")


def _of_unit(one: Object, path: str, text: str, size: float | None) -> Found:
    if size is None:
        what, effect = "is no quantity", "the API server refuses the object"
        better, severity = _repaired(text), "high"
    elif size < 2**20:
        what = f"is {size:g} bytes"
        effect = "no container starts with it; m is a thousandth, and M a million"
        better, severity = _repaired(text), "high"
    else:
        binary = size / {"k": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}[text[-1]]
        what = f"is {binary:.3f}{text[-1]}i: decimal"
        effect = (
            f"{1 - binary / float(text[:-1]):.1%} less than {text}i, which servers mean by {text}"
        )
        better, severity = f"{text}i, or {text} and sizes computed from it", ""
    return Found(
        what=f"{one.title}: {path} {text} {what}",
        evidence=(one.fact(path),),
        effect=effect,
        fix=edits(f"{path}: {better}"),
        undo=edits(f"{path}: {text}"),
        about=f"{one.title}:{path}",
        severity=severity,
    )


def _repaired(text: str) -> str:
    """What was probably meant: 4GB -> 4Gi, 512m -> 512Mi."""
    found = re.match(r"\s*(\d+(?:\.\d+)?)\s*([kmgtKMGT]?)", text)
    return f"{found[1]}{(found[2] or 'G').upper()}i" if found else "a quantity such as 4Gi"


def _limits(facts: Facts) -> Iterator[Found]:
    for one in objects(facts):
        where = _DATABASES.get(one.kind)
        if where is None:
            continue
        for member in one.paths(rf"{where}(?=\.)"):
            if one.value(f"{member}.resources.limits.memory"):
                continue
            first = next(path for path in one.fields if path.startswith(f"{member}."))
            yield Found(
                what=f"{one.title}: {member} has no memory limit",
                evidence=(one.fact(first),),
                effect="a server sizes its caches by the node's memory, whatever else runs there,"
                " and is the first to be killed when it runs out"
                + (
                    "; the operator passes no cache size"
                    if one.kind == "PerconaServerMongoDB"
                    else ""
                ),
                fix=edits(f"{member}.resources.limits.memory: a size, and requests equal to it"),
                undo=edits(f"Remove {member}.resources.limits.memory."),
                about=f"{one.title}:{member}",
            )


def _ratio_place(facts: Facts) -> Iterator[Found]:
    for one in objects(facts):
        if one.kind != "PerconaServerMongoDB":
            continue
        for path in one.paths(_RATIO):
            if re.match(r"spec\.(replsets\[\d+\]|sharding\.configsvrReplSet)\.storage\.", path):
                continue
            yield Found(
                what=f"{one.title}: cacheSizeRatio is in {path.partition('.storage')[0]}",
                evidence=(one.fact(path),),
                effect=f"operators of 1.12 and newer do not read it there: the ratio is 0.5, not"
                f" {one.value(path)}",
                fix=edits("Move it to spec.replsets[].storage.wiredTiger.engineConfig."),
                undo=edits(f"Move it back to {path}."),
                about=f"{one.title}:{path}",
            )


def _ratio_effect(facts: Facts) -> Iterator[Found]:
    """A ratio that changes nothing: no limit, or a limit so small that the least cache holds."""
    for one in objects(facts):
        if one.kind != "PerconaServerMongoDB":
            continue
        for path in one.paths(r"(spec\.replsets\[\d+\])\.storage\.wiredTiger\.engineConfig"
                              r"\.cacheSizeRatio"):  # fmt: skip
            member, ratio = path.partition(".storage")[0], float(one.value(path))
            limit = quantity(one.value(f"{member}.resources.limits.memory") or "")
            cache = cache_mib(limit, ratio) if limit else None
            if cache is not None and cache > 256:
                continue
            yield Found(
                what=f"{one.title}: cacheSizeRatio {ratio:g} of {member} has no effect",
                evidence=(one.fact(path),),
                effect="there is no memory limit, so no size is passed, and mongod takes half of"
                " the node's memory above 1 GiB"
                if cache is None
                else "the cache has its least size, 256 MiB: the ratio is of what lies above 1 GiB"
                f" of the limit ({one.value(f'{member}.resources.limits.memory')})",
                fix=edits(f"{member}.resources.limits.memory: more than 1.5Gi"),
                undo=edits("Write the old limit back."),
                about=f"{one.title}:{path}",
            )


def cache_mib(limit_bytes: float, ratio: float) -> int:
    """What mongod makes of the operator's size: 1474 for 3G and 0.8."""
    above = max(0.0, limit_bytes - 2**30)
    printed = round(max(0.25, int(ratio * above) / 2**30) * 100) / 100
    return int(printed * 1024)


_PSMDB = "https://docs.percona.com/percona-operator-for-mongodb/operator.html"
RULES = (
    rule(
        "k8s-memory-unit",
        "A memory in the wrong unit",
        "`G` is decimal (7 % less than `Gi`), `m` is a thousandth of a byte, `GB` is no quantity.",
        "low",
        _units,
        _QUANTITIES,
    ),
    rule(
        "k8s-database-without-memory-limit",
        "A database without a memory limit",
        "Members of an operator's cluster that hold data, without `resources.limits.memory`.",
        "medium",
        _limits,
        "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    ),
    rule(
        "k8s-cache-ratio-misplaced",
        "cacheSizeRatio in a place that is not read",
        "`cacheSizeRatio` in `spec.mongod`, the place of operators before 1.12.",
        "medium",
        _ratio_place,
        _PSMDB,
    ),
    rule(
        "k8s-cache-ratio-without-effect",
        "A cacheSizeRatio that changes nothing",
        "Without a memory limit, or with one that leaves the least cache, the ratio has no effect.",
        "low",
        _ratio_effect,
        _PSMDB,
    ),
)
