"""What may be done to an external server, and which tables and nodes are used, as written."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from dbdyno.experiment.values.scalars import Strict

READ_URLS_MAX = 32


def _yes_or_no(value: object) -> object:
    """YAML 1.2 reads `yes` as text; permissions read best that way."""
    return {"yes": True, "no": False}.get(value, value) if isinstance(value, str) else value


Allowed = Annotated[
    bool,
    BeforeValidator(_yes_or_no),
    WithJsonSchema({"enum": [True, False, "yes", "no"]}),
]


class MayModel(Strict):
    """Permissions on a server that dbdyno did not start."""

    restart: Allowed = Field(False, description="your hooks may restart it; dbdyno never does")
    set_global: Allowed = Field(
        False, description="`config:` may be set for the run; it is restored"
    )
    create_schema: Allowed = Field(
        True, description="schema `dbdyno_...` may be created; it is dropped"
    )
    write: Allowed = Field(False, description="groups may change `data.existing`; needs --write-to")


class NodesModel(Strict):
    """A server and its replicas."""

    write: str = Field(description="URL of the primary server")
    read: list[str] = Field(
        [],
        max_length=READ_URLS_MAX,
        description="URLs of its replicas, for groups with `node: read`",
    )


class DataModel(Strict):
    """Existing data for the load, instead of tables that dbdyno loads."""

    existing: str = Field(
        min_length=1,
        max_length=64,
        description="name of an existing schema, which is never dropped",
    )
