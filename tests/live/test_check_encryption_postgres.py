"""PostgreSQL: sessions under TLS or not, hostssl without TLS, and pgcrypto's keys in the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pg8000.native
import pytest
from running import wait_for
from servers_there import PASSWORD, There, there
from test_check import check, found

pytestmark = pytest.mark.live
ONLY = ("--only", "encryption")
KEY = "planted-key-4711"


def session(server: There, *, tls: bool) -> Any:
    return pg8000.native.Connection(
        "app",
        host="127.0.0.1",
        port=server.server.port,
        database="shop",
        password=PASSWORD,
        ssl_context=tls,
    )


def test_sessions_are_under_tls_or_not() -> None:
    with there("postgres") as server:
        hidden = check(server.url, "--json", *ONLY)
        server.sql("GRANT pg_read_all_stats TO app")
        under, clear = session(server, tls=True), session(server, tls=False)
        bundle = check(server.url, "--collect")
        under.close()
        clear.close()
    reasons = {one["rule"]: one["reason"] for one in hidden["not_known"]}
    assert "pg_read_all_stats" in reasons["postgres-sessions-in-the-clear"]
    rows = bundle["subjects"][0]["tables"]["session_tls"]["rows"]
    seen = {(row["user"], row["host"], row["tls"]) for row in rows}
    assert ("app", "127.0.0.1", True) in seen and ("app", "127.0.0.1", False) in seen


def test_a_key_of_pgcrypto_in_the_log_is_counted_and_not_repeated(tmp_path: Path) -> None:
    with there("postgres") as server:
        quiet = found(check(server.url, "--json", *ONLY))
        server.sql(
            "CREATE EXTENSION pgcrypto",
            "ALTER SYSTEM SET log_statement = 'all'",
            "SELECT pg_reload_conf()",
        )
        assert wait_for(lambda: server.setting("log_statement") == "all")
        server.sql(f"SELECT pgp_sym_encrypt('address', '{KEY}')")
        loud = found(check(server.url, "--json", *ONLY))
        log = tmp_path / "postgres.log"
        log.write_bytes(Path(f"/proc/{server.server.pid}/fd/2").read_bytes())
    assert "postgres-pgcrypto-keys-logged" not in quiet
    assert "postgres-pgcrypto-keys-logged" in loud
    assert KEY in log.read_text()
    document = check(log, "--json", *ONLY)
    assert found(document) == {"mysql-keys-in-logs"}
    assert "the key of PGP_SYM_ENCRYPT" in json.dumps(document)
    assert KEY not in json.dumps(document)
