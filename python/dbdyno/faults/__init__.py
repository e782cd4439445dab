"""Faults: one file for each thing that can be done to a server in mid-load."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.faults import alter, clock, kill, limit, pause, restart, resume, sql, stop
from dbdyno.faults.base import FaultKind
from dbdyno.faults.disk import fsync_error, power_cut
from dbdyno.faults.drills import backup, detach, replace, restore, switchover, upgrade
from dbdyno.faults.network import link, partition

FAULTS: Mapping[str, FaultKind] = {
    each.name: each
    for each in (
        kill.FAULT,
        pause.FAULT,
        resume.FAULT,
        stop.FAULT,
        restart.FAULT,
        power_cut.FAULT,
        fsync_error.FAULT,
        limit.FAULT,
        partition.FAULT,
        link.FAULT,
        sql.FAULT,
        alter.FAULT,
        clock.FAULT,
        backup.FAULT,
        restore.FAULT,
        switchover.FAULT,
        replace.FAULT,
        upgrade.FAULT,
        detach.FAULT,
    )
}

DRAWN = "nemesis"  # no fault of its own: it draws others (`nemesis.drawn`)
