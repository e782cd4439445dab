"""Provider options that decide about membership and quorum, under their own names.

Names, defaults and meanings:
https://mariadb.com/docs/galera-cluster/reference/wsrep-variable-details/wsrep_provider_options
(Galera 26.4). A server prints its own with `SELECT @@wsrep_provider_options`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from dbdyno.experiment.values import units

WEIGHT_MAX = 255
_PERIOD = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_YES, _NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")


@dataclass(frozen=True)
class Options:
    """Of the whole cluster; lengths of time in seconds."""

    keepalive_s: float = 1.0
    inactive_check_s: float = 0.5
    suspect_s: float = 5.0
    inactive_s: float = 15.0
    install_s: float = 7.5
    max_install_timeouts: int = 3
    join_retrans_s: float = 1.0
    peer_s: float = 3.0
    ignore_sb: bool = False
    ignore_quorum: bool = False
    recovery: bool = True
    fc_limit: int = 16
    fc_single_primary: bool = False

    def __post_init__(self) -> None:
        for name in ("keepalive_s", "inactive_check_s", "suspect_s", "install_s", "join_retrans_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{NAMES[name]} must be longer than nothing")
        if self.inactive_s < self.suspect_s:
            raise ValueError(
                f"{NAMES['inactive_s']} ({self.inactive_s:g} s) is shorter than"
                f" {NAMES['suspect_s']} ({self.suspect_s:g} s)"
            )
        if self.fc_limit < 0:
            raise ValueError("gcs.fc_limit must be at least 0")


NAMES: Mapping[str, str] = {
    "keepalive_s": "evs.keepalive_period",
    "inactive_check_s": "evs.inactive_check_period",
    "suspect_s": "evs.suspect_timeout",
    "inactive_s": "evs.inactive_timeout",
    "install_s": "evs.install_timeout",
    "max_install_timeouts": "evs.max_install_timeouts",
    "join_retrans_s": "evs.join_retrans_period",
    "peer_s": "gmcast.peer_timeout",
    "ignore_sb": "pc.ignore_sb",
    "ignore_quorum": "pc.ignore_quorum",
    "recovery": "pc.recovery",
    "fc_limit": "gcs.fc_limit",
    "fc_single_primary": "gcs.fc_single_primary",
}
KNOWN = tuple(NAMES.values())


def from_provider(given: Mapping[str, str]) -> Options:
    """Options as a provider prints them (`evs.suspect_timeout` -> `PT5S`); others are passed over.
    ValueError names the option that cannot be read."""
    return Options(**read(given))  # type: ignore[arg-type]


def read(given: Mapping[str, str]) -> dict[str, object]:
    """Fields of `Options` that are among those of a provider, each by itself. ValueError."""
    kinds = {field.name: type(field.default) for field in fields(Options)}
    parsers = {bool: _flag, int: lambda text: int(text, 10), float: _number}
    found: dict[str, object] = {}
    for field, name in NAMES.items():
        if name not in given:
            continue
        text = given[name].strip()
        parse = length_s if field.endswith("_s") else parsers[kinds[field]]
        try:
            found[field] = parse(text)
        except ValueError as error:
            raise ValueError(f"{name} cannot be {text!r}: {error}") from None
    return found


def length_s(text: str) -> float:
    """`PT0.5S`, `P1DT2H` (ISO 8601, as Galera writes them) or `500ms` in seconds."""
    found = _PERIOD.fullmatch(text)
    if found and any(found.groups()):
        days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
        return days * 86400 + hours * 3600 + minutes * 60 + seconds
    try:
        return units.duration_s(text)
    except ValueError:
        raise ValueError("write a period such as PT5S, or 500ms") from None


def _flag(text: str) -> bool:
    if text.lower() not in (*_YES, *_NO):
        raise ValueError("write yes or no")
    return text.lower() in _YES


def _number(text: str) -> float:
    return float(text)
