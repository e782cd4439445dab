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
    """What is allowed on a server that dbdyno did not start."""

    restart: Allowed = Field(False, description="hooks of yours restart it; dbdyno never does")
    set_global: Allowed = Field(False, description="`config:` is set for the run, then restored")
    create_schema: Allowed = Field(True, description="a schema `dbdyno_...` is made, and dropped")
    write: Allowed = Field(False, description="groups may change `data.existing`; needs --write-to")


class NodesModel(Strict):
    """Servers that replicate one another."""

    write: str = Field(description="URL of the server that is written to")
    read: list[str] = Field(
        [], max_length=READ_URLS_MAX, description="URLs of its replicas, for groups `node: read`"
    )


class DataModel(Strict):
    """What the load works on, instead of tables that dbdyno loads."""

    existing: str = Field(
        min_length=1, max_length=64, description="an existing schema: read, never dropped"
    )
