"""What sessions know of the MySQL server that they are with: its settings, who has connected, who may write."""

from __future__ import annotations

from simcluster.models.apps.stores.program import StoreProgram
from simcluster.models.apps.stores.settings import is_on


class MysqlServer(StoreProgram):
    """A server as its sessions see it.

    Attributes:
        named: settings that files and arguments name.
        logins: as whom callers have connected, and to which database.
    """

    settings: dict[str, str]
    named: dict[str, str]
    logins: dict[tuple[str, str, str], tuple[str, str]]
    version = "8.4.2"
    slow_queries = 0

    def say(self, level: str, number: str, part: str, text: str) -> None:
        """A line of the error log."""

    def read_only_for(self, *, superuser: bool) -> str:
        """The option that keeps a user from writing; "" if none does."""
        if is_on(self.settings.get("super_read_only", "OFF")):
            return "--super-read-only"
        return "--read-only" if is_on(self.settings["read_only"]) and not superuser else ""

    def has_spare(self) -> bool:
        """Whether the one connection beyond `max_connections`, which is kept for a superuser, is free."""
        return True
