"""A container of a store's image that runs something else: a script, `sleep`. The clients are there all the same."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.models.apps.stores.mongo import mongoclient
from simcluster.models.apps.stores.mysql import mysqlclient
from simcluster.models.apps.stores.postgres import psqlclient
from simcluster.models.apps.stores.redis import rediscli
from simcluster.models.machine.container import Container
from simcluster.models.machine.shell.container import ProgramHost, ShellProgram
from simcluster.models.userland.outcome import Outcome


class ClientShell(ShellProgram):
    """A script or a tool in an image that brings the clients of one kind of store.

    Args:
        kind: `mongod`, `postgres`, `mysqld` or `redis`.
    """

    def __init__(self, container: Container, argv: Sequence[str], host: ProgramHost | None, kind: str) -> None:
        super().__init__(container, argv, host)
        self._kind = kind

    def run_with_input(self, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """Commands of what the script started, or a client."""
        for program in self.servers:
            result = program.run_with_input(argv, stdin)
            if result is not None:
                return result
        match self._kind:
            case "postgres":
                return psqlclient.run(self.container, None, argv, stdin)
            case "mongod":
                return mongoclient.run(self.container, None, argv, stdin, legacy=True)
            case "mysqld":
                return mysqlclient.run(self.container, None, argv, stdin)
            case "redis":
                return rediscli.run(self.container, None, argv)
        return None
