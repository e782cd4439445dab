"""A disk that fails: each flush of the volume ends with an I/O error (EIO), and so does an fsync.
What was written stays readable meanwhile.

A server should not acknowledge a commit whose fsync has failed, not even when a second one
succeeds: the kernel may have dropped the pages. Most servers end themselves. To undo it is to have
the disk obey again; where the file system has given up it is mounted again, and a server that has
ended by itself is started.
"""

from __future__ import annotations

from dbdyno.errors import DynoError
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import ELSEWHERE, Fleeting, Node


class FsyncError(Fleeting):
    """See the module."""

    name = "fsync_error"
    about = (
        "makes each fsync on the server's `volume` fail (EIO); undone by a disk that obeys again,"
        " and a start if the server has ended; needs root"
    )
    ends = True
    lasts = True

    def begin(self, node: Node, fault: Fault) -> str:
        node.must_run()
        assert node.disk is not None, "checked by experiment.faults"
        if not node.disk.keeps:
            raise DynoError(
                f"no fsync of `{node.name}` can fail",
                cause="with these mount options the kernel sends no flush to the volume",
                fix="remove `nobarrier` or the like from `mount_options` of the volume",
            )
        node.disk.fail_flushes(True)
        return ""

    def undo(self, node: Node, fault: Fault, said: str) -> str:
        assert node.disk is not None, "checked by experiment.faults"
        node.disk.fail_flushes(False)
        if not node.disk.is_on:
            return "the power was cut meanwhile"
        ended = not node.server.process.alive()
        gave_up = not node.disk.can_be_written()
        if not gave_up and (node.is_down or not ended):
            return ELSEWHERE if node.is_down else "the server went on"
        node.server.kill()
        if gave_up:
            node.disk.remount()
        if not node.is_down:
            node.start_again()
        reasons = [ELSEWHERE if node.is_down else "the server ended itself"] * ended
        reasons += ["the file system went read-only and was mounted again"] * gave_up
        return " and ".join(reasons)


FAULT = FsyncError()
