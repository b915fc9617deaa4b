"""The tables of applications as their files give them, and the part of a MySQL script that a statement is."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import yaml

from simcluster.models.apps.behaviour import Application
from simcluster.models.apps.stores.demand import DataSet
from simcluster.models.apps.stores.postgres.psqlscripts import pointed, sent
from simcluster.models.apps.stores.sql.relations import Relations
from simcluster.models.apps.stores.sql.schemas import described_tables

_APPS = Path(__file__).parents[4] / "simcluster" / "apps"


@pytest.mark.parametrize(
    ("app", "data", "dialect", "table", "schema", "columns"),
    [
        ("astronomy_shop", "otel", "postgres", "order", "accounting", ["order_id"]),
        ("train_ticket", "ts", "mysql", "config", "public", ["name", "description", "value"]),
    ],
)
def test_applications_give_columns_of_all_their_tables(
    app: str, data: str, dialect: str, table: str, schema: str, columns: list[str]
) -> None:
    read = Application.model_validate(yaml.safe_load((_APPS / app / "behaviour.yaml").read_text()))
    [described] = [one.data[data] for one in read.stores if data in one.data]
    assert set(described.columns) == set(described.tables)
    made = described_tables(described, dialect)
    assert set(made) == {name.rpartition(".")[2] for name in described.tables}
    assert (made[table].schema, [each.name for each in made[table].columns]) == (schema, columns)
    assert all(each.key for each in made.values())


def test_a_table_without_columns_has_its_key() -> None:
    [table] = described_tables(DataSet(tables=("a.b",), key="sku"), "postgres").values()
    assert (table.schema, table.key, table.columns[0].kind) == ("a", ("sku",), "TEXT")
    assert pickle.loads(pickle.dumps(table)).schema == "a"


def test_names_are_found_in_any_case_and_missing_ones_without_rows() -> None:
    made = Relations({}, "postgres", "2026-03-02 09:00:00+00")
    made.execute("create table t (id int, name text)")
    assert made.execute("select T.ID as one, NAME from t as T").heads == ["one", "name"]
    with pytest.raises(Exception, match="no column") as refused:
        made.execute("select id from t where nope > 1")
    assert refused.value.at == 23  # type: ignore[attr-defined]
    for text, near, at in (("select * from", "", 13), ("select * form t", "form", 9), ("select 'x", "'x", 7)):
        with pytest.raises(SyntaxError) as wrong:
            made.execute(text)
        assert (str(wrong.value).partition(" (")[0], wrong.value.offset) == (near, at)


def test_places_in_scripts() -> None:
    script = "-- a\nselect 1;\n  select /* b */ nope\tfrom t;"
    first, second = sent(script)
    assert (first.text, script[first.at : first.end]) == ("select 1", "select 1")
    assert second.raw == "select         nope from t"
    at = second.at + second.raw.index("nope")
    assert pointed(script, at) == f"LINE 3:   select /* b */ nope from t;\n{' ' * 25}^\n"
    long = "select " + "a, " * 40 + "nope from t"
    line, caret = pointed(long, long.index("nope")).splitlines()
    assert line.startswith("LINE 1: ...")
    assert line[len(caret) - 1 :].startswith("nope")
