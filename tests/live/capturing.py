"""Captures what goes over the loopback interface, as tcpdump would, and writes it as a file."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from needed import missing

ALL_PROTOCOLS = 3
ATTACH_FILTER = 26  # SO_ATTACH_FILTER
FORCED_BUFFER = 33  # SO_RCVBUFFORCE
BUFFER = 64 << 20
LONGEST = 1 << 18
ETHERNET = 1
NANOSECONDS = 9  # if_tsresol


class Capture:
    """Packets to and from a port: when, and what."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.packets: list[tuple[int, bytes]] = []

    def take(self, packet: bytes) -> None:
        """Keeps it if it is TCP over IPv4 of the port."""
        header = (packet[14] & 15) * 4 if packet[12:14] == b"\x08\x00" else 0
        if header and packet[23] == socket.IPPROTO_TCP:
            ports = struct.unpack_from("!HH", packet, 14 + header)
            if self.port in ports:
                self.packets.append((time.time_ns(), packet))

    def pcap(self, path: Path) -> Path:
        """Writes it in the classic form, with nanoseconds."""
        with path.open("wb") as file:
            file.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, LONGEST, ETHERNET))
            for time_ns, packet in self.packets:
                seconds, rest = divmod(time_ns, 10**9)
                file.write(struct.pack("<IIII", seconds, rest, len(packet), len(packet)) + packet)
        return path

    def pcapng(self, path: Path) -> Path:
        """Writes it in blocks, big-endian, of the second of two interfaces."""
        resolution = struct.pack(">HHB3xHH", 9, 1, NANOSECONDS, 0, 0)
        blocks = [
            (0x0A0D0D0A, struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1)),
            (1, struct.pack(">HHI", 101, 0, 0)),
            (1, struct.pack(">HHI", ETHERNET, 0, 0) + resolution),
        ]
        for time_ns, packet in self.packets:
            times = divmod(time_ns, 1 << 32)
            head = struct.pack(">IIIII", 1, *times, len(packet), len(packet))
            blocks.append((6, head + packet))
        with path.open("wb") as file:
            for kind, body in blocks:
                padded = body + bytes(-len(body) % 4)
                length = struct.pack(">I", len(padded) + 12)
                file.write(struct.pack(">I", kind) + length + padded + length)
        return path


def only(listener: socket.socket, port: int) -> None:
    """Has the kernel leave out all but TCP over IPv4 of a port (linux/filter.h): what other tests
    send would overrun the socket, and never pause."""
    program = (
        *((0x28, 0, 0, 12), (0x15, 0, 8, 0x0800)),  # the type of the frame; else to the end
        *((0x30, 0, 0, 23), (0x15, 0, 6, socket.IPPROTO_TCP)),
        (0xB1, 0, 0, 14),  # the length of the header of IP
        *((0x48, 0, 0, 14), (0x15, 2, 0, port), (0x48, 0, 0, 16), (0x15, 0, 1, port)),
        *((0x06, 0, 0, 0xFFFFFFFF), (0x06, 0, 0, 0)),  # all of the packet; nothing
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in program))
    filter_ = struct.pack("HL", len(program), ctypes.addressof(code))
    listener.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, filter_)


@contextmanager
def captured(port: int) -> Iterator[Capture]:
    """What goes over loopback while the block runs. Needs root."""
    capture = Capture(port)
    try:
        listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError:
        missing("no packets may be captured: only root may")
    with listener:
        with suppress(PermissionError):
            listener.setsockopt(socket.SOL_SOCKET, FORCED_BUFFER, BUFFER)
        only(listener, port)
        listener.bind(("lo", ALL_PROTOCOLS))
        listener.settimeout(0.3)
        over = threading.Event()

        def listen() -> None:
            while True:
                try:
                    packet, address = listener.recvfrom(LONGEST)
                except TimeoutError:
                    if over.is_set():
                        return
                    continue
                # On loopback every packet goes out and comes in.
                if address[2] != socket.PACKET_OUTGOING:
                    capture.take(packet)

        thread = threading.Thread(target=listen, name=f"capture-{os.getpid()}")
        thread.start()
        try:
            yield capture
        finally:
            over.set()
            thread.join()
