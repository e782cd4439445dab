"""Packets are lost, or new connections find no room."""

from __future__ import annotations

from dbdyno.analysis.causes.evidence import Moved
from dbdyno.wording import numbers
from dbdyno.wording.cause import CauseText


def _packets(here: str, there: str, again: Moved, sent: Moved) -> str:
    return (
        f"Packets were lost between client and server {here}: TCP sent"
        f" {_percent(again.during, sent.during)} of its segments again"
        f" ({numbers.number(again.during)} a second), against"
        f" {_percent(again.otherwise, sent.otherwise)} {there}."
    )


def _percent(part: float, whole: float) -> str:
    return f"{numbers.number(100.0 * part / max(whole, part, 1e-12))} %"


CAUSES = {
    "network": CauseText(
        "packets lost on the network",
        "TCP sends segments again, a thousandth of all or more (in a stall: of those beyond the"
        " usual) and five times as often as otherwise; their timeouts are half or more of the time"
        " that sessions stood still",
        "https://docs.kernel.org/networking/snmp_counter.html,"
        " https://www.rfc-editor.org/rfc/rfc6298",
        _packets,
        "Find where they are lost (`nstat`, `ip -s link`, `ethtool -S`, `tc -s qdisc`,"
        " counters of the switch): a rate limit or a full queue on the way (cloud instances"
        " have one), a bad cable, a wrong MTU.",
    ),
    "listen_queue": CauseText(
        "full listen queue",
        "new connections find the server's listen queue full, five times as often as otherwise;"
        " waiting a second each is half or more of the time that sessions stood still",
        "https://docs.kernel.org/networking/snmp_counter.html,"
        " https://man7.org/linux/man-pages/man2/listen.2.html",
        "The listen queue was full {here}: {refused.during:number} connections a second found no"
        " room in it and were tried again after a second, against {refused.otherwise:number}"
        " {there}.",
        "Keep connections open (a pool), or let more wait: back_log (MariaDB, MySQL) and"
        " net.core.somaxconn, of which the smaller counts. A server that accepts slowly is"
        " busy or stopped.",
    ),
}
