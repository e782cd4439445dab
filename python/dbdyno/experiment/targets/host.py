"""`host:` of a target: where samples of the machine come from that a server runs on.

`ssh://user@db1:22`, or `prometheus:http://prom:9090?instance=db1:9100`. Never with a password.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from dbdyno.hosts import ssh

FORM = "ssh://user@db1, or prometheus:http://prom:9090?instance=db1:9100"
_PREFIX = "prometheus:"


@dataclass(frozen=True)
class Prometheus:
    """A Prometheus and the label `instance` of the node_exporter there."""

    url: str  # scheme, host, port and path: what `/api/v1/query` is appended to
    instance: str


def parse(text: str) -> ssh.SshAddress | Prometheus:
    """Takes a `host:` apart. ValueError, without the text, if it is none."""
    if text.startswith("ssh://"):
        return ssh.address(text)
    if text.startswith(_PREFIX):
        return _prometheus(text.removeprefix(_PREFIX))
    raise ValueError(f"must be {FORM}")


def _prometheus(url: str) -> Prometheus:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("must have a URL of Prometheus that can be read") from None
    if "@" in parts.netloc:
        raise ValueError("must contain no user or password: let a proxy on loopback add them")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError(f"must be {FORM}")
    query = parse_qs(parts.query, keep_blank_values=True)
    instances = query.pop("instance", [])
    if query or parts.fragment:
        raise ValueError("must have no parameter but `instance`")
    if len(instances) != 1 or not instances[0]:
        raise ValueError("must name one instance: end it in ?instance=db1:9100")
    return Prometheus(f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", instances[0])


def checked(value: object) -> object:
    """The text itself if it can be read; for models. ValueError if not."""
    if isinstance(value, str):
        parse(value)
    return value
