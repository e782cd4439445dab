"""Where processes run. The only package that starts any (tests/contract/test_processes.py)."""

from __future__ import annotations

from dbdyno.hosts.base import Host, Shell
from dbdyno.hosts.local import LOCAL
from dbdyno.hosts.ssh import SshHost, address


def shell(on: str | None, here: Host = LOCAL) -> Shell:
    """What runs commands on `on`, an address such as `ssh://user@db1`; None: `here`."""
    return here if on is None else SshHost(address(on))


__all__ = ["LOCAL", "Shell", "SshHost", "shell"]
