"""A line between nodes on one machine: a network namespace each, and a delay between them.

Packets of each namespace's tun device (https://docs.kernel.org/networking/tuntap.html) are read
here, held for `delay_s` and written to the device of whom they are for. On loopback three nodes
and their clients want more processor time than two processors have, and what is seen of their
conflicts is that; with a line between them they wait for each other, as nodes of their own do.

`python -m tools.proof.galera.line DELAY_S NAME...` makes the namespaces, says so in a line, and
removes them at the end of its input, however that comes.
"""

from __future__ import annotations

import fcntl
import heapq
import itertools
import os
import selectors
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

TUN = Path("/dev/net/tun")
PROGRAMS = ("ip", "nsenter", "setpriv")
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_DESTINATION = slice(16, 20)  # in an IPv4 header
_PACKET_MAX = 65_536
_EARLY_S = 0.001  # timers are late; the rest is waited for awake
ADDRESS = "10.77.0.{}"


def missing() -> str:
    """What a line needs and is not here; "" if all is."""
    if os.geteuid() != 0 or not TUN.exists():
        return "root with /dev/net/tun"
    return ", ".join(name for name in PROGRAMS if shutil.which(name) is None)


class Line:
    """A process of our own that is the line; a context manager."""

    def __init__(self, names: Sequence[str], delay_s: float) -> None:
        self.hosts = {name: ADDRESS.format(i) for i, name in enumerate(names, 1)}
        self._spaces = {name: f"dbdyno-{os.getpid()}-{name}" for name in names}
        self._command = [sys.executable, "-m", __spec__.name, str(delay_s), *self._spaces.values()]

    def __enter__(self) -> Line:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout
        if not self._process.stdout.readline():
            raise RuntimeError("the line between nodes could not be made")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate("", 30.0)

    def inside(self, name: str, uid: int, gid: int) -> tuple[str, ...]:
        """What stands before a command that is to run there, as that account."""
        enter, become = shutil.which("nsenter"), shutil.which("setpriv")
        assert enter and become
        account = (f"--reuid={uid}", f"--regid={gid}", "--clear-groups")
        return (enter, f"--net=/run/netns/{self._spaces[name]}", become, *account)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def _device(number: int, space: str) -> int:
    """A tun device in a namespace of its own; its descriptor."""
    device = f"dyno{number}"
    _ip("netns", "add", space)
    descriptor = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
    wanted = struct.pack("16sH22x", device.encode(), _IFF_TUN | _IFF_NO_PI)
    fcntl.ioctl(descriptor, _TUNSETIFF, wanted)
    _ip("link", "set", device, "netns", space)
    _ip("-n", space, "addr", "add", f"{ADDRESS.format(number)}/24", "dev", device)
    _ip("-n", space, "link", "set", device, "up")
    _ip("-n", space, "link", "set", "lo", "up")
    return descriptor


def _carry(devices: dict[bytes, int], delay_s: float) -> None:
    """Until the input ends."""
    held: list[tuple[float, int, int, bytes]] = []  # when, in which order, to whom, what
    order = itertools.count()
    with selectors.DefaultSelector() as selector:
        for each in (*devices.values(), sys.stdin.fileno()):
            selector.register(each, selectors.EVENT_READ)
        while True:
            while held and held[0][0] <= time.monotonic():
                _, _, to, packet = heapq.heappop(held)
                os.write(to, packet)
            wait_s = held[0][0] - time.monotonic() - _EARLY_S if held else None
            for key, _ in selector.select(None if wait_s is None else max(0.0, wait_s)):
                if key.fd == sys.stdin.fileno():
                    return
                packet = os.read(key.fd, _PACKET_MAX)
                to = devices.get(packet[_DESTINATION], -1)
                if to >= 0:
                    due_s = time.monotonic() + delay_s
                    heapq.heappush(held, (due_s, next(order), to, packet))


def _main(delay_s: float, spaces: Sequence[str]) -> None:
    try:
        devices = {
            bytes(int(part) for part in ADDRESS.format(number).split(".")): _device(number, space)
            for number, space in enumerate(spaces, 1)
        }
        print("ready", flush=True)
        _carry(devices, delay_s)
    finally:
        for space in spaces:
            subprocess.run(["ip", "netns", "del", space], check=False, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    _main(float(sys.argv[1]), sys.argv[2:])
