"""What every external server has in common: where it is, who we are there, and that it goes on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno.experiment.targets.server_url import ServerUrl
from dbdyno.systems.base import Resolved, TargetPlan, engine_target
from dbdyno.systems.external import credentials
from dbdyno.systems.external.credentials import Login
from dbdyno.systems.external.encryption import engine_tls
from dbdyno.systems.external.server import Mark


class External(ABC):
    """An external server. Who inherits has a control connection too."""

    driver: str
    pid: int | None = None
    directory: Path | None = None

    def __init__(self, url: ServerUrl, login: Login, tls: str) -> None:
        self.place = url.place
        self.version = ""
        self.remark = login.warning
        self.mark: Mark | None = None
        self._login = login
        self._tls = credentials.tls_of(tls, login)

    @abstractmethod
    def answers(self) -> bool:
        """Whether it answers a question over the control connection."""

    @abstractmethod
    def close_connection(self) -> None:
        """Closes the control connection."""

    def engine_target(
        self, target: TargetPlan, resolved: Resolved, database: str
    ) -> dict[str, Any]:
        return self._engine_target(target, database, resolved.session_sql)

    def _engine_target(
        self,
        target: TargetPlan,
        database: str,
        session_sql: Sequence[str] = (),
        options: Mapping[str, Any] = {},
    ) -> dict[str, Any]:
        login = self._login
        tcp = {"tcp": {"host": login.host, "port": login.port}}
        return engine_target(
            target,
            self.driver,
            tcp if login.socket is None else {"unix": login.socket},
            database,
            user=login.user,
            password=login.password,
            tls=engine_tls(self._tls),
            rules=login.rules(self.place).engine(),
            session_sql=session_sql,
            options=options,
        )

    def alive(self) -> bool:
        return self.answers()

    def stop(self, *, discard: bool = False) -> bool:
        """It goes on; only our connection is closed."""
        self.close_connection()
        return True
