"""SQL of operations, as drivers send it: what slow logs show of an operation that a behaviour describes.

Left out: columns beside the key (an application's file does not name them), joins.
"""

from __future__ import annotations

from simcluster.models.apps.stores.demand import DataSet, IoModel


def statement(io: IoModel, described: DataSet, mark: str) -> str:
    """The statement of an operation; `mark` stands for a value.

    >>> statement(IoModel(command="SELECT", table="carts"), DataSet(key="user_id"), "$1")
    'SELECT * FROM carts WHERE user_id = $1'
    >>> statement(IoModel(writes=1, grow=100), DataSet(key="id", tables=("orders",)), "?")
    'INSERT INTO orders VALUES (?)'
    """
    table = io.table or described.tables[0]
    command = io.command.upper() or ("INSERT" if io.grow else "UPDATE" if io.writes else "SELECT")
    if command.startswith("INSERT"):
        return f"INSERT INTO {table} VALUES ({mark})"
    if command.startswith("DELETE"):
        return f"DELETE FROM {table} WHERE {described.key} = {mark}"
    if command.startswith("UPDATE"):
        return f"UPDATE {table} SET value = {mark} WHERE {described.key} = {mark}"
    return f"SELECT * FROM {table} WHERE {described.key} = {mark}" if not io.scan else f"SELECT * FROM {table}"
