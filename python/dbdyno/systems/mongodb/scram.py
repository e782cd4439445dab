"""Logins by SCRAM, in the bounds of the policy: the password never leaves, only a proof does.

Source: the MongoDB specification "Authentication" (SCRAM-SHA-1 and SCRAM-SHA-256); RFC 5802.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import scramp

from dbdyno.errors import DynoError
from dbdyno.systems.external.server import Refused
from dbdyno.systems.logins.policy import (
    SCRAM_ITERATIONS_MAX,
    SCRAM_ITERATIONS_MIN,
    LoginRules,
)
from dbdyno.systems.mongodb.client import AUTHENTICATION_FAILED, Client, MongoError

SHA_256, SHA_1 = "SCRAM-SHA-256", "SCRAM-SHA-1"
_STRANGER = "look at what listens there; try the server's own client"


def log_in(
    client: Client, rules: LoginRules, database: str, password: str, offered: Sequence[str] | None
) -> None:
    """Proves the password to the server, and has it prove that it knows the password too.
    `offered`: mechanisms of the account; None: a server that does not say. Refused, DynoError."""
    mechanism = _chosen(rules, offered)
    if mechanism == SHA_1:  # whose secret is not the password
        known = f"{rules.user}:mongo:{password}".encode()
        password = hashlib.md5(known, usedforsecurity=False).hexdigest()
    try:
        _converse(client, rules, database, mechanism, password)
    except scramp.ScramException as error:
        raise rules.refusal(
            f"{mechanism} failed: {error}",
            _STRANGER,
            "the server does not know the password, or is no MongoDB",
        ) from None
    except MongoError as error:
        if error.code == AUTHENTICATION_FAILED:
            raise Refused(str(error)) from None
        raise


def _chosen(rules: LoginRules, offered: Sequence[str] | None) -> str:
    if offered is None:
        return (
            SHA_1  # before 4.0 there was no other; a newer server refuses a user that is not there
        )
    for one in (SHA_256, SHA_1):
        if one in offered:
            return one
    raise rules.refusal(
        f"the account has only {', '.join(map(str, offered))[:200] or 'no mechanism'}",
        f"use an account with {SHA_256}",
        "LDAP, certificates or Kerberos, which dbdyno does not speak here",
    )


def _converse(
    client: Client, rules: LoginRules, database: str, mechanism: str, password: str
) -> None:
    scram = scramp.ScramClient([mechanism], rules.user, password)
    start = {
        "saslStart": 1,
        "mechanism": mechanism,
        "payload": scram.get_client_first().encode(),
        "options": {"skipEmptyExchange": True},
    }
    first = client.command(database, start)
    message = _payload(rules, first)
    _check_iterations(rules, message)
    scram.set_server_first(message)
    last = _go_on(client, database, first, scram.get_client_final().encode())
    scram.set_server_final(_payload(rules, last))
    if last.get("done") is not True:
        last = _go_on(client, database, first, b"")
    if last.get("done") is not True:
        raise rules.refusal(f"{mechanism} does not come to an end", _STRANGER)


def _go_on(client: Client, database: str, first: dict[str, Any], payload: bytes) -> dict[str, Any]:
    conversation = first.get("conversationId")
    asked = {"saslContinue": 1, "conversationId": conversation, "payload": payload}
    return client.command(database, asked)


def _payload(rules: LoginRules, answer: dict[str, Any]) -> str:
    payload = answer.get("payload")
    if not isinstance(payload, bytes):
        raise rules.refusal("the server's answer holds no proof", _STRANGER)
    return payload.decode("utf-8", "replace")


def _check_iterations(rules: LoginRules, message: str) -> None:
    found = re.search(r",i=([0-9]{1,10})(?:,|$)", message)
    count = int(found[1]) if found else 0
    if not SCRAM_ITERATIONS_MIN <= count <= SCRAM_ITERATIONS_MAX:
        raise _iterations(rules, count)


def _iterations(rules: LoginRules, count: int) -> DynoError:
    return rules.refusal(
        f"the server asks for SCRAM with {count:,} iterations, and {SCRAM_ITERATIONS_MIN:,} to"
        f" {SCRAM_ITERATIONS_MAX:,} are accepted",
        "set scramIterationCount and scramSHA256IterationCount to 4096 or more and set the"
        " password again; if the server is not yours to set, do not log in",
        "an account made with a low count, or a server that wants to guess the password from what"
        " we answer",
    )
