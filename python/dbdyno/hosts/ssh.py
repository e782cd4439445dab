"""`ssh://user@host:port`: where a command runs, or whose samples are read; never with a password.

What is behind it is the user's own `ssh`: names, keys and jumps come from `~/.ssh/config`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.hosts.base import MERGED, PIPE, Held, Process
from dbdyno.hosts.local import LOCAL

PATTERN = r"^ssh://([A-Za-z0-9_][A-Za-z0-9_.+-]*@)?[A-Za-z0-9_\[][A-Za-z0-9_.:\]-]*/?$"

# Nothing may begin with a dash: to ssh it would be an option.
_ADDRESS = re.compile(
    r"ssh://(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.+-]*)@)?"
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*))"
    r"(?::(?P<port>[0-9]{1,5}))?/?"
)

# Arguments: variables, the command. All of it is one compound command, so that the shell has read
# everything before `cat` waits on what is left of standard input: its end, the connection's.
_REMOTE = """dyno() {
%s
setsid=$(command -v setsid)
$setsid /bin/sh -c %s </dev/null 3<&- &
command=$!
{ cat; kill -TERM -$command || kill -TERM $command; sleep 2; kill -KILL -$command; } \
<&3 3<&- >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait $command
status=$?
kill $watcher 2>/dev/null
exit $status
}; exec 3<&0; dyno
"""


@dataclass(frozen=True)
class SshAddress:
    """A host as an argument of ssh. `user` and `port` None: as ssh's configuration says."""

    host: str
    user: str | None = None
    port: int | None = None

    @property
    def destination(self) -> str:
        """`user@host`."""
        return f"{self.user}@{self.host}" if self.user else self.host

    def command(self, *options: str) -> list[str]:
        """The argument list of an `ssh` that never asks for anything and runs `/bin/sh` there,
        which reads its script from standard input. The connection ends within about 15 s of the
        host's silence."""
        words = ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
        words += ["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", *options]
        if self.port is not None:
            words += ["-p", str(self.port)]
        return [*words, "--", self.destination, "exec /bin/sh"]


def address(text: str) -> SshAddress:
    """Reads an address. ValueError, with what is wrong, for anything else."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        if re.match(r"ssh://[^/@]*:[^/@]*@", text):
            raise ValueError("must hold no password: ssh uses keys or its agent")
        raise ValueError("must be an address such as ssh://user@db1 or ssh://db1:2222")
    port = int(found["port"]) if found["port"] else None
    if port is not None and not 1 <= port <= 65535:
        raise ValueError("must have a port between 1 and 65535")
    return SshAddress(found["v6"] or found["name"], found["user"], port)


def checked(value: object) -> object:
    """The text itself if it is an address; for models. ValueError if not."""
    if isinstance(value, str):
        address(value)
    return value


class SshHost:
    """A host behind an address. What a method returns is the `ssh` on this machine; what it runs
    there ends with the connection."""

    def __init__(self, address: SshAddress) -> None:
        self._command = address.command()

    def open(self) -> Process:
        """Starts `/bin/sh` there, which reads its script from standard input."""
        return LOCAL.start(self._command, stdin=PIPE, stdout=PIPE, stderr=PIPE)

    def hold(
        self,
        command: str,
        variables: Mapping[str, str],
        *,
        environment: Mapping[str, str],
        cwd: str | None,
    ) -> Held:
        """See `Shell.hold`."""
        process = LOCAL.start(
            self._command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=MERGED,
            environment={**environment, **variables},
            cwd=cwd,
        )
        return Held(process, remote_script(command, variables))


def remote_script(command: str, variables: Mapping[str, str]) -> str:
    """What `/bin/sh` on the host is given to run `command`."""
    exports = "\n".join(f"export {name}={shlex.quote(text)}" for name, text in variables.items())
    return _REMOTE % (exports or ":", shlex.quote(command))
