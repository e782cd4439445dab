"""This machine."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from dbdyno.hosts.base import (
    MERGED,
    PIPE,
    Command,
    Completed,
    Group,
    Held,
    Host,
    Ids,
    Process,
    Stream,
)

# Waits for a line on standard input; at its end instead (dyno was killed) the command never begins.
_HELD = 'read -r go && exec /bin/sh -c "$0" </dev/null'


class LocalHost:
    """See `Host`."""

    def start(
        self,
        command: Command,
        *,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
        group: Group = "session",
        pass_fds: Sequence[int] = (),
    ) -> Process:
        """See `Host.start`."""
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=environment,
            cwd=cwd,
            start_new_session=group == "session",
            process_group=0 if group == "group" else None,
            pass_fds=pass_fds,
        )

    def run(
        self,
        command: Command,
        *,
        timeout_s: float,
        given: str = "",
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
        ids: Ids | None = None,
    ) -> Completed:
        """See `Host.run`."""
        user, group = ids or (None, None)
        return subprocess.run(
            command,
            input=given,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout_s,
            env=environment,
            cwd=cwd,
            user=user,
            group=group,
            extra_groups=[] if ids else None,
            umask=0o077,
            start_new_session=True,
            check=False,
        )

    def hold(
        self,
        command: str,
        variables: Mapping[str, str],
        *,
        environment: Mapping[str, str],
        cwd: str | None,
    ) -> Held:
        """See `Shell.hold`."""
        process = self.start(
            ["/bin/sh", "-c", _HELD, command],
            stdin=PIPE,
            stdout=PIPE,
            stderr=MERGED,
            environment={**environment, **variables},
            cwd=cwd,
        )
        return Held(process, "\n")


LOCAL: Host = LocalHost()
