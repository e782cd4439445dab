"""Nothing was sampled of the server's machine."""

from __future__ import annotations

from dbdyno.wording.cause import CauseText

CAUSES = {
    "host_not_seen": CauseText(
        "machine not seen",
        "the server is on another machine, of which there are no samples, and nothing else is"
        " recognised",
        "docs/guide/external-servers.md",
        "The server's machine was not seen: of its disks, CPUs and processes there are no samples,"
        " so that a cause there cannot be named.",
        "Give the target `host:` (ssh or Prometheus), so that the machine is sampled.",
    ),
}
