"""`volume:` of a target: a disk for the data directory of each server, as written."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.file.document import Node
from dbdyno.experiment.types import Volume
from dbdyno.experiment.values.scalars import Size, Strict

SIZE_MIN = 320 << 20  # the least that mkfs.xfs takes is 300 MiB
SIZE_MAX = 1 << 40
OPTIONS_PATTERN = r"^[A-Za-z0-9_]+(=[A-Za-z0-9_.:%-]+)?(,[A-Za-z0-9_]+(=[A-Za-z0-9_.:%-]+)?)*$"


def _size(size_bytes: int) -> int:
    if not SIZE_MIN <= size_bytes <= SIZE_MAX:
        raise ValueError(f"must be at least {SIZE_MIN >> 20}Mi and at most {SIZE_MAX >> 30}Gi")
    return size_bytes


class VolumeModel(Strict):
    """A disk of its own for each server: an image behind a write-back cache. A fault `power_cut`
    empties the cache, and with it whatever was not flushed. It is there for truth, not for speed:
    reports say what an fsync costs on it."""

    size: Annotated[Size, AfterValidator(_size)] = Field(
        2 << 30, description="size of the disk, at least 320Mi; data and logs must fit"
    )
    filesystem: Literal["ext4", "xfs", "btrfs"] = Field("ext4", description="file system on it")
    mount_options: str = Field(
        "",
        pattern=rf"{OPTIONS_PATTERN}|^$",
        max_length=200,
        description="options of the mount, such as `nobarrier` (ext4, btrfs); default: the file"
        " system's own",
    )
    flushes: Literal["obeyed", "ignored"] = Field(
        "obeyed",
        description="`ignored`: a disk that lies. It says that its cache needs no flush, and loses"
        " what is in it all the same",
    )


def typed(name: str, kind: str, model: VolumeModel | None, node: Node) -> Volume | None:
    """The volume. DynoError, with its place, for one of a kind without a data directory that dbdyno
    starts a server on; of an external server it is refused elsewhere."""
    if model is None or "url" in node.mapping or "nodes" in node.mapping:
        return None
    known = kinds.of(kind)
    if known.in_engine or not known.start_s:
        able = [each for each, one in kinds.KINDS.items() if one.start_s and not one.in_engine]
        raise DynoError(
            f"target `{name}`: `volume` means nothing to {known.title}",
            where=node.mapping["volume"].place,
            cause="it has no server process whose power could be cut",
            fix=f"remove it, or use a target of kind {', '.join(able)}",
        )
    return Volume(model.size, model.filesystem, model.mount_options, model.flushes)
