"""A user of Redis as `user` lines, ACL files and `ACL LIST` have it, without its passwords.

Source: Redis documentation, "ACL": rules are read from left to right.
"""

from __future__ import annotations

ADMINISTERING = frozenset(
    """@admin @dangerous acl config debug module shutdown replicaof slaveof failover cluster
    flushall flushdb migrate""".split()  # noqa: SIM905
)
"""Categories and whole commands that no application needs; `config|get` is none of them."""


def user(line: str) -> dict[str, object]:
    """`user app on #HASH ~* +@all`: how many passwords it has, and no password."""
    _, name, *rules = line.split()
    enabled = nopass = False
    hashes = clear = 0
    for rule in rules:
        if rule in ("on", "off"):
            enabled = rule == "on"
        elif rule in ("nopass", "resetpass", "reset"):
            hashes = clear = 0
            nopass = rule == "nopass"
            enabled = enabled and rule != "reset"
        elif rule[0] in "#>":
            nopass = False
            hashes, clear = hashes + (rule[0] == "#"), clear + (rule[0] == ">")
    given = {rule.strip("()").removeprefix("+").lower() for rule in rules if "+" in rule[:2]}
    taken = {rule.removeprefix("-").lower() for rule in rules if rule.startswith("-")}
    return {
        "name": name,
        "enabled": enabled,
        "nopass": nopass,
        "hashes": hashes,
        "clear": clear,
        "all_keys": "~*" in rules or "allkeys" in rules,
        "all_commands": "+@all" in rules or "allcommands" in rules,
        "takes_away": len(taken - {"@all"}),
        "administers": " ".join(sorted((given & ADMINISTERING) - taken)),
    }
