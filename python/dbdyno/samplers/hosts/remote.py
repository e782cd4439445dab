"""A machine's /proc, read over one connection of the user's own ssh. Nothing is installed there.

A small POSIX shell script goes to `/bin/sh` on the host and prints some files of /proc once a
second, each line after its file's name (`grep '' FILES`: one process a second). The parsers are
those of the local samplers. Rates divide by the host's own clock (/proc/uptime); a sample's place
in the trial is its arrival here, so a slow network shifts samples by its delay. A connection that
drops leaves a gap and is made again a few times; the trial never waits for it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from dbdyno import kinds
from dbdyno.hosts.base import Process, TimedOut, end_group
from dbdyno.hosts.ssh import SshAddress, SshHost
from dbdyno.samplers.hosts import feed
from dbdyno.samplers.machine import cpu, disk, load, memory, network, paging
from dbdyno.samplers.server import process

T = TypeVar("T")

INTERVAL_S = 1
FRAMES_MAX = 31 * 86_400  # of one connection: a loop that nobody can stop ends by itself
FRAME_BYTES_MAX = 4 << 20
RECONNECTS_MAX = 20
BACKOFF_MAX_S = 15.0
POLL_S = 0.2
END_S = 2.0

# Arguments: programs, port in hexadecimal, number of frames, pause. One compound command, since a
# shell may read its standard input ahead.
_SCRIPT = r"""dyno() {
LC_ALL=C; export LC_ALL
programs=' %s '
# The process that listens on the server's port, where we may look (root, or its own account);
# else the only one of these names that is not a child of another.
server() {
  inode=$(awk '$4 == "0A" && $2 ~ /:%s$/ { print $10; exit }' /proc/net/tcp /proc/net/tcp6)
  pid=$(ls -l /proc/[0-9]*/fd | awk -v socket="socket:[$inode]" '
    /^\/proc\// { split($1, part, "/"); pid = part[3] }
    index($0, socket) { print pid; exit }')
  [ -n "$pid" ] && read -r name < "/proc/$pid/comm" || name=
  case "$programs" in *" $name "*) [ -z "$name" ] || return ;; esac
  pid=$(cat /proc/[0-9]*/stat | awk -v programs="$programs" '
    { name = $0; sub(/^[0-9]+ \(/, "", name); sub(/\) [A-Za-z] .*$/, "", name)
      rest = $0; sub(/^.*\) [A-Za-z] /, "", rest); split(rest, word, " ")
      if (index(programs, " " name " ")) parent[$1] = word[1] }
    END { for (pid in parent) if (!(parent[pid] in parent)) { count++; found = pid }
      if (count == 1) print found }')
}
echo "@clock $(getconf CLK_TCK) $(getconf PAGESIZE)"
for device in /sys/block/*; do
  [ -e "$device/device" ] && echo "@disk $(cat "$device/dev")"
done
for each in /sys/class/net/*; do
  [ -e "$each/device" ] && ! [ -e "$each/master/device" ] && echo "@interface ${each##*/}"
done
pid= count=0
while [ $count -lt %d ]; do
  if [ "$programs" != '  ' ] && [ $((count %% 30)) -eq 0 ] && ! [ -e "/proc/${pid:-none}" ]; then
    server
  fi
  count=$((count + 1)) files=
  if [ -n "$pid" ] && [ -e "/proc/$pid" ]; then
    children=
    read -r children < "/proc/$pid/task/$pid/children"
    for each in $pid $children; do
      files="$files /proc/$each/stat /proc/$each/statm /proc/$each/io"
    done
  fi
  echo "@server $pid"
  grep '' /dev/null /proc/uptime /proc/stat /proc/meminfo /proc/diskstats /proc/loadavg \
    /proc/vmstat /proc/net/dev /proc/net/snmp /proc/net/netstat $files
  echo @end
  sleep %d
done
}; dyno 2>/dev/null
"""


class Dropped(Exception):
    """The connection ended, or never began; `args[0]` says why."""


@dataclass
class Frame:
    """One sample of the host: its files by path, and the server's process (0: not found)."""

    files: dict[str, str]
    pid: int = 0

    @property
    def uptime_s(self) -> float:
        """The host's clock."""
        try:
            return float(self.files["/proc/uptime"].split()[0])
        except KeyError:
            raise ValueError("it has no /proc/uptime, so it is hardly Linux") from None

    @property
    def has_server(self) -> bool:
        """Whether the server's process was there to be read."""
        return f"/proc/{self.pid}/stat" in self.files


@dataclass
class Parser:
    """Lines of the script in, frames out. ValueError for impossible output."""

    ticks_per_s: int = 100
    page_bytes: int = 4096
    disks: set[str] = field(default_factory=set)
    interfaces: set[str] = field(default_factory=set)  # with hardware behind them
    _lines: dict[str, list[str]] = field(default_factory=dict)
    _bytes: int = 0
    _pid: int = 0

    def line(self, text: str) -> Frame | None:
        """Takes a line; a frame if that was its last."""
        if text.startswith("/"):
            path, colon, rest = text.partition(":")
            if not colon:
                raise ValueError(f"an unexpected line: {text[:60]}")
            self._lines.setdefault(path, []).append(rest)
            self._bytes += len(text)
            if self._bytes > FRAME_BYTES_MAX:
                raise ValueError("its answer is larger than /proc can be")
            return None
        word, _, rest = text.partition(" ")
        if word == "@end":
            files = {path: "\n".join(lines) for path, lines in self._lines.items()}
            self._lines, self._bytes = {}, 0
            return Frame(files, self._pid)
        if word == "@server":
            self._pid = int(rest) if rest.strip() else 0
        elif word == "@disk":
            self.disks.add(rest.strip())
        elif word == "@interface":
            self.interfaces.add(rest.strip())
        elif word == "@clock":
            clock = [int(number) for number in rest.split()]
            if len(clock) == 2:  # a host without getconf has the usual values
                self.ticks_per_s, self.page_bytes = clock
        return None  # anything else: a login's greeting

    def values(
        self, last: Frame, now: Frame, elapsed_s: float
    ) -> Iterator[tuple[str, dict[str, float]]]:
        """(source, metrics) of what happened between two frames."""
        yield "cpu", cpu.shares(*_both(cpu.parse, last, now, "/proc/stat"), elapsed_s)
        yield "memory", memory.parse(now.files.get("/proc/meminfo", ""))
        devices = frozenset(self.disks)
        yield (
            "disk",
            disk.rates(
                *_both(lambda text: disk.parse(text, devices), last, now, "/proc/diskstats"),
                elapsed_s,
            ),
        )
        yield "network", network.rates(self._network(last), self._network(now), elapsed_s)
        yield "paging", paging.rates(*_both(paging.parse, last, now, "/proc/vmstat"), elapsed_s)
        if average := now.files.get("/proc/loadavg"):
            yield "load", load.parse(average)
        if now.has_server and now.pid == last.pid and last.has_server:
            yield "server", process.rates(self._server(last), self._server(now), elapsed_s)

    def _network(self, frame: Frame) -> dict[str, int]:
        dev, snmp, netstat = (frame.files.get(path, "") for path in network.FILES)
        return network.parse(dev, snmp, netstat, frozenset(self.interfaces))

    def _server(self, frame: Frame) -> process.Reading:
        found = []
        for path, stat in frame.files.items():
            base, _, name = path.rpartition("/")
            number = base.removeprefix("/proc/")
            if name == "stat" and number.isdigit() and f"{base}/statm" in frame.files:
                statm, io = frame.files[f"{base}/statm"], frame.files.get(f"{base}/io", "")
                found.append(process.Files(int(number), stat, statm, io))
        return process.parse(found, frame.pid, self.ticks_per_s, self.page_bytes)


def _both(read: Callable[[str], T], last: Frame, now: Frame, path: str) -> tuple[T, T]:
    return read(last.files.get(path, "")), read(now.files.get(path, ""))


def script(kind: str, port: int | None) -> str:
    """What `/bin/sh` on the host is given. Without a port the server is found by name alone."""
    hexadecimal = f"{port:04X}" if port else "-"
    return _SCRIPT % (kinds.of(kind).programs, hexadecimal, FRAMES_MAX, INTERVAL_S)


class SshFeed:
    """See the module."""

    finish_s = END_S + 1.0

    def __init__(self, address: SshAddress, kind: str, port: int | None, prefix: str) -> None:
        self._host = SshHost(address)
        self._where = address.destination
        self._script = script(kind, port)
        self._prefix = prefix
        self._emitted = 0

    def run(self, zero_unix_s: float, ending: threading.Event, emit: feed.Emit) -> None:
        """See `feed.Feed`."""
        reason = "it had not connected by the end of the trial"
        for attempt in range(RECONNECTS_MAX + 1):
            try:
                self._connected(zero_unix_s, ending, emit)
            except (Dropped, OSError, ValueError) as error:
                reason = f"ssh {self._where}: {error}"
                emit(feed.gap(feed.since(zero_unix_s), self._prefix, reason))
            if ending.wait(min(2.0**attempt, BACKOFF_MAX_S)):
                break
        if not self._emitted:  # reported for the measured phase, whenever it was noticed
            emit(feed.gap(0.0, self._prefix, reason))

    def _connected(self, zero_unix_s: float, ending: threading.Event, emit: feed.Emit) -> None:
        """One connection until the end of the trial; Dropped if it ends before."""
        with self._ssh() as ssh:
            parser, last = Parser(), None
            for line in _lines(ssh, ending):
                now = parser.line(line)
                if now is None:
                    continue
                if last is not None:
                    self._sample(parser, last, now, feed.since(zero_unix_s), emit)
                last = now

    def _sample(self, parser: Parser, last: Frame, now: Frame, t_s: float, emit: feed.Emit) -> None:
        elapsed_s = now.uptime_s - last.uptime_s
        if elapsed_s <= 0:  # it was restarted, which a connection hardly survives
            return
        for source, values in parser.values(last, now, elapsed_s):
            if values:
                self._emitted += 1
                emit(feed.sample(t_s, elapsed_s, f"{self._prefix}.{source}", values))

    @contextlib.contextmanager
    def _ssh(self) -> Iterator[Process]:
        process = self._host.open()
        assert process.stdin and process.stdout and process.stderr
        try:
            with contextlib.suppress(BrokenPipeError):  # it will say why
                process.stdin.write(self._script.encode())  # less than a pipe holds: no waiting
                process.stdin.flush()
            yield process
        finally:
            end_group(process, END_S)
            for pipe in (process.stdin, process.stdout, process.stderr):
                with contextlib.suppress(OSError):
                    pipe.close()


def _lines(ssh: Process, ending: threading.Event) -> Iterator[str]:
    """Lines as they come, until the trial is over. Dropped if ssh ends before that."""
    assert ssh.stdout is not None
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(ssh.stdout, selectors.EVENT_READ)
        while not ending.is_set():
            if not selector.select(POLL_S):
                continue
            data = os.read(ssh.stdout.fileno(), 1 << 16)
            if not data:
                raise Dropped(_why(ssh))
            *whole, pending = (pending + data).split(b"\n")
            if len(pending) > FRAME_BYTES_MAX:
                raise Dropped("its answer is endless and not of /proc")
            for line in whole:
                yield line.decode(errors="replace")


def _why(ssh: Process) -> str:
    """What ssh says of its end."""
    try:
        ssh.wait(END_S)
    except TimedOut:
        return "the connection was closed"
    assert ssh.stderr is not None
    os.set_blocking(ssh.stderr.fileno(), False)
    with contextlib.suppress(OSError):
        if said := (ssh.stderr.read(1 << 12) or b"").decode(errors="replace").strip():
            return said.splitlines()[-1]
    return f"it ended with status {ssh.returncode}"
