"""What an application asks of a store, as its YAML says: operations' I/O, and the data behind them.

An application's file has a section `stores`; each entry names a kind of store, the data sets
that the application keeps in it, and the operations it asks for. All stores of that kind know
them; a store holds a data set from the first operation on it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from simcluster.models.traffic.graph.laws import Part
from simcluster.models.traffic.graph.service import Bytes

#: Kinds of stores, by the program that serves.
Kind = Literal["mongod", "postgres", "mysqld", "redis", "memcached"]


class IoModel(Part):
    """What one operation does to the data.

    Attributes:
        data: the data set; "" is the store's own default.
        table: collection or table; by default the first of the data set.
        reads: documents, rows or keys looked up, each a random access.
        scan: bytes read in sequence besides.
        writes: documents, rows or keys changed.
        grow: bytes by which the data set grows (inserts).
        hot: share of the accesses that go to the hot part of the data; None is as the data set says.
        durable: whether the answer waits until the log is on the disk; None is the store's default.
        command: the command as the store's log and errors name it (`find`, `insert`, `SELECT`).
    """

    data: str = ""
    table: str = ""
    reads: Annotated[float, Field(ge=0.0)] = 1.0
    scan: Bytes = 0
    writes: Annotated[float, Field(ge=0.0)] = 0.0
    grow: Bytes = 0
    hot: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    durable: bool | None = None
    command: str = ""


class DataSet(Part):
    """Data of an application in one store: a database.

    Attributes:
        size: bytes on disk, indexes included, when the application begins: what years of use have left.
        fresh: bytes that a store has which begins anew on an empty volume later, when there is nothing but what
            the application itself fills in; None: as many.
        hot: bytes of it to which `hot_share` of the accesses go; 0 is a fifth.
        document: bytes of one document, row or value.
        tables: collections or tables.
        key: field or column by which documents are looked up.
        columns: of a relational store: table -> its columns as CREATE TABLE has them in its parentheses, tables that
            others refer to first.
    """

    size: Bytes = 64 << 20
    fresh: Bytes | None = None
    hot: Bytes = 0
    hot_share: Annotated[float, Field(ge=0.0, le=1.0)] = 0.9
    document: Annotated[Bytes, Field(gt=0)] = 1 << 10
    tables: tuple[str, ...] = ("data",)
    key: str = "_id"
    columns: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _hot_is_inside(self) -> DataSet:
        if self.hot > self.size:
            raise ValueError(f"hot ({self.hot} bytes) is more than the size ({self.size} bytes)")
        return self

    def hot_bytes(self, size: int) -> int:
        """Bytes of the hot part when the data have grown to `size`."""
        return min(size, self.hot or size // 5)
