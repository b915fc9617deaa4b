"""Users of a store: passwords, roles, grants; what lies in the store's own tables on its disk.

A grant is a privilege on a database: `read`, `write` or `admin`, on one database or on all (`*`).
What is left out: the exchange of hashes (a password is compared as it is), grants on single fields.
"""

from __future__ import annotations

READ, WRITE, ADMIN = "read", "write", "admin"


class Account:
    """One user or role.

    Attributes:
        database: where a document store keeps it (`admin`); "" elsewhere.
        roles: as they were granted: (role, database).
        limit: most connections; -1 is no limit.
        settings: that hold in its sessions (`default_transaction_read_only`).
    """

    def __init__(self, name: str, password: str, database: str = "") -> None:
        self.name = name
        self.password = password
        self.database = database
        self.roles: list[tuple[str, str]] = []
        self.enabled = True
        self.superuser = False
        self.limit = -1
        self.settings: dict[str, str] = {}

    def grant(self, role: str, database: str) -> None:
        """Give a role; harmless if it has it."""
        if (role, database) not in self.roles:
            self.roles.append((role, database))

    def revoke(self, role: str, database: str) -> bool:
        """Take a role away; whether it had it."""
        if (role, database) in self.roles:
            self.roles.remove((role, database))
            return True
        return False


class Accounts:
    """All users of one store, by name (a document store's by `database.name`)."""

    def __init__(self) -> None:
        self.users: dict[str, Account] = {}

    def add(self, account: Account) -> None:
        """A new user, or a new version of him."""
        self.users[self.key(account.name, account.database)] = account

    def find(self, name: str, database: str = "") -> Account | None:
        """The user, if there is one."""
        return self.users.get(self.key(name, database))

    def remove(self, name: str, database: str = "") -> bool:
        """Drop a user; whether there was one."""
        return self.users.pop(self.key(name, database), None) is not None

    @staticmethod
    def key(name: str, database: str) -> str:
        """Under which a user is kept."""
        return f"{database}.{name}" if database else name
