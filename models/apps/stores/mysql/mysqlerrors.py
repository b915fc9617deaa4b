"""Errors of a MySQL server as its client prints them. Source: MySQL 8.0, Server Error Message Reference."""

from __future__ import annotations

from simcluster.models.apps.stores.mysql.mysqlscripts import rest_from

_WRONG = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version "


class MysqlError(Exception):
    """An error of the server: number, state, text."""

    def __init__(self, number: int, state: str, text: str) -> None:
        super().__init__(text)
        self.number, self.state, self.text = number, state, text

    def line(self, number: int = 1) -> str:
        """What the client prints of it.

        >>> MysqlError(1046, "3D000", "No database selected").line()
        'ERROR 1046 (3D000) at line 1: No database selected\\n'
        """
        return f"ERROR {self.number} ({self.state}) at line {number}: {self.text}\n"


def misspelt(text: str, at: int = 0) -> MysqlError:
    """A syntax error near what stands from `at` on."""
    return MysqlError(1064, "42000", f"{_WRONG}for the right syntax to use near '{rest_from(text, at)}' at line 1")


def unsupported(what: str) -> MysqlError:
    """What is not evaluated here."""
    return MysqlError(1235, "42000", f"This version of MySQL doesn't yet support '{what}'")


def denied(privilege: str) -> MysqlError:
    """A right is missing."""
    text = f"Access denied; you need (at least one of) the {privilege} privilege(s) for this operation"
    return MysqlError(1227, "42000", text)
