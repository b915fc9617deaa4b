"""What a store has written: databases, users, settings, the state of its log. It survives the process.

It lies with the volume: on a claim or a path of the host it survives the pod, in an emptyDir the
container, in the container's own layer nothing.
"""

from __future__ import annotations

from typing import Any

from simcluster.models.apps.stores.accounts import Accounts
from simcluster.models.apps.stores.demand import DataSet
from simcluster.models.apps.stores.sql.tables import Table


class Database:
    """One database (a data set): its bytes on the disk and what it came from.

    Attributes:
        number: from which its files' names follow.
        size: bytes now; `grown` those that inserts have added.
        documents: rows or documents, as counted by commands.
        relations: small tables that people have made; collections: documents that they have inserted.
        schemas: of a PostgreSQL database: those that people have made.
    """

    schemas: tuple[str, ...] = ()

    def __init__(self, name: str, number: int, described: DataSet) -> None:
        self.name = name
        self.number = number
        self.described = described
        self.size = described.size
        self.grown = 0
        self.relations: dict[str, Table] = {}
        self.collections: dict[str, list[dict[str, Any]]] = {}

    @property
    def documents(self) -> int:
        """How many documents or rows it has."""
        return self.size // self.described.document

    @property
    def hot(self) -> int:
        """Bytes of the hot part."""
        return self.described.hot_bytes(self.size)


class Contents:
    """The data directory of one store.

    Attributes:
        kind, version: who made it; key: drawn then, for what it names at random.
        clean: whether the last process that used it has shut it down.
        log_bytes: log written since the last checkpoint: what a recovery must read.
        position: bytes of log written in all (an LSN).
        settings: changed at run time and kept (ALTER SYSTEM, CONFIG REWRITE).
        keys: of caches: bytes of the last snapshot.
        owner: the user whose files they are; None: nobody asks.
    """

    owner: int | None = None

    def __init__(self, kind: str, version: str, key: int = 0) -> None:
        self.kind = kind
        self.version = version
        self.key = key
        self.clean = True
        self.accounts = Accounts()
        self.databases: dict[str, Database] = {}
        self.settings: dict[str, str] = {}
        self.log_bytes = 0
        self.position = 22_000_000
        self.checkpoint_ns = 0
        self.snapshot_bytes = 0
        self.append_bytes = 0

    def database(self, name: str, described: DataSet) -> Database:
        """The database of that name, made if it is missing."""
        found = self.databases.get(name)
        if found is None:
            found = self.databases[name] = Database(name, 7 + 2 * len(self.databases), described)
        return found
