"""Rows that people put into tables of their own, through the clients of databases."""

from __future__ import annotations

import pytest

from simcluster.models.apps.stores.sql.relations import Relations
from simcluster.models.apps.stores.sql.tables import Refused, Table, Unsupported, snapshot


def relations(dialect: str = "postgres") -> Relations:
    tables: dict[str, Table] = {}
    made = Relations(tables, dialect, "2026-03-02 09:00:00")
    made.execute("create table t (id int primary key, name varchar(8) not null, n int default 5)")
    made.execute("insert into t (id, name, n) values (1, 'ann', 3), (2, 'bob', 7), (3, 'abe', null)")
    made.execute("create table u (id int, of int)")
    made.execute("insert into u values (10, 1), (11, 1), (12, 2)")
    return made


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("select name from t where n > 3 or n is null order by name", [["abe"], ["bob"]]),
        ("select count(*), count(n), sum(n), min(name), max(n) from t", [[3, 2, 10, "abe", 7]]),
        ("select name like 'a%' as a, count(*) from t group by a order by 2", [[False, 1], [True, 2]]),
        ("select t.name, u.id from t join u on u.of = t.id where u.id <> 11 order by u.id", [["ann", 10], ["bob", 12]]),
        ("select t.id from t left join u on u.of = t.id where u.id is null", [[3]]),
        ("select distinct of from u order by of desc limit 1", [[2]]),
        ("select of, count(*) from u group by of having count(*) > 1", [[1, 2]]),
        ("select upper(name) || '!' from t where id in (1) and n between 3 and 4", [["ANN!"]]),
        ("select case when n > 5 then 'much' else 'little' end from t where id = 2", [["much"]]),
        ("select coalesce(n, 0) + 1 from t order by id offset 2", [[1]]),
        ("select 7 / 2, -7 / 2, 7 % 4, current_timestamp", [[3, -3, 3, "2026-03-02 09:00:00"]]),
    ],
)
def test_what_is_selected(text: str, rows: list[list[object]]) -> None:
    assert relations().execute(text).rows == rows


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("insert into t values (1, 'x')", "duplicate"),
        ("insert into t (id) values (9)", "null"),
        ("insert into t values (9, 'much too long')", "too long"),
        ("insert into t values ('x', 'y')", "wrong value"),
        ("insert into t values (9, 'y', 1, 2)", "too many values"),
        ("select nope from t", "no column"),
        ("select 1 from nope", "no table"),
        ("create table t (x int)", "exists"),
        ("drop table nope", "no table to drop"),
        ("select 1 / 0", "division"),
        ("select 'a' * 2", "types"),
        ("select " + "9" * 19, "range"),
        ("select 9223372036854775807 + 1", "range"),
        ("select name from t order by 4", "position"),
    ],
)
def test_what_is_refused_changes_nothing(text: str, why: str) -> None:
    made = relations()
    if why == "range" and "+" not in text:
        text += " * 10"
    with pytest.raises(Refused) as refused:
        made.execute(text)
    assert refused.value.why == why
    assert made.execute("select count(*) from t").rows == [[3]]


@pytest.mark.parametrize(
    "text",
    [
        "select * from (select 1) x", "create view v as select 1", "select random()",
        "with recursive x as (select 1) select 1",
        "insert into t values (1, 'x') on conflict do nothing", "select row_number() over () from t",
        "create table x (a int check (a > 1))", "select pg_read_file('/etc/passwd')",
    ],
)  # fmt: skip
def test_what_is_not_evaluated_is_said(text: str) -> None:
    with pytest.raises(Unsupported):
        relations().execute(text)


@pytest.mark.parametrize("text", ["selec 1", "select from from", "insert t 1", "(" * 3000, "select " + "(" * 900 + "1"])
def test_what_is_no_statement(text: str) -> None:
    with pytest.raises((SyntaxError, Refused, Unsupported)):
        relations().execute(text)


def test_changes_and_the_way_back() -> None:
    made = relations()
    before = snapshot(made._tables)
    assert made.execute("update t set n = n + 1 where id < 3").count == 2
    assert made.execute("delete from t where n is null").count == 1
    assert made.execute("select n from t").rows == [[4], [8]]
    assert len(before["t"].rows) == 3


def shop(dialect: str) -> Relations:
    made = relations(dialect)
    made.execute("create table buyer (id int primary key, mail varchar(20) unique)")
    made.execute(
        "create table ordered (id int primary key, of int, gift int, foreign key (of) references buyer (id), "
        "foreign key (gift) references buyer (id) on delete set null)"
    )
    made.execute("create table line (id int, of int, foreign key (of) references ordered (id) on delete cascade)")
    made.execute("insert into buyer values (1, 'a@x'), (2, 'b@x'), (3, null), (4, null)")
    made.execute("insert into ordered values (10, 1, 2), (11, null, null)")
    made.execute("insert into line values (1, 10), (2, 10), (3, 11)")
    return made


@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("insert into buyer values (5, 'c@x'), (6, 'a@x')", "duplicate"),
        ("update buyer set mail = 'a@x' where id = 3", "duplicate"),
        ("create unique index mine on line (of)", "no unique index"),
        ("insert into ordered values (12, 9, null)", "orphan"),
        ("update ordered set of = 9 where id = 10", "orphan"),
        ("delete from buyer where id = 1", "needed"),
        ("delete from buyer", "needed"),
        ("update buyer set id = 7 where id = 1", "needed"),
        ("drop table buyer", "table in use"),
        ("truncate table buyer", "table not to empty"),
        ("create table other (x int, foreign key (x) references nope (id))", "no table to refer to"),
        ("create table other (x int, foreign key (x) references line (id))", "no key to refer to"),
        ("create table other (x int, unique (y))", "no column"),
    ],
)
def test_what_a_table_promises_is_kept(dialect: str, text: str, why: str) -> None:
    made = shop(dialect)
    every = "select count(*), count(buyer.mail) from buyer", "select * from ordered", "select * from line"
    before = [made.execute(each).rows for each in every]
    with pytest.raises(Refused) as refused:
        made.execute(text)
    assert refused.value.why == why
    assert [made.execute(each).rows for each in every] == before


def test_what_refers_to_rows_that_go_goes_or_forgets() -> None:
    made = shop("postgres")
    made.execute("delete from buyer where id = 2")
    assert made.execute("select gift from ordered where id = 10").rows == [[None]]
    assert made.execute("delete from ordered where id = 10").count == 1
    assert made.execute("select id from line").rows == [[3]]
    made.execute("delete from buyer where id = 1")
    made.execute("drop table line, ordered")
    made.execute("drop table buyer")


def test_columns_may_say_themselves_to_what_they_refer() -> None:
    made = relations()
    made.execute("create table tree (id int primary key, above int references tree)")
    made.execute("insert into tree values (1, null), (2, 1)")
    with pytest.raises(Refused, match="orphan"):
        made.execute("insert into tree values (3, 9)")
    there = relations("mysql")
    there.execute("create table tree (id int primary key, above int references tree (id))")
    there.execute("insert into tree values (3, 9)")  # InnoDB reads it and forgets it


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("with many as (select of, count(*) as n from u group by of) select name, n from t join many on many.of = t.id "
         "order by n desc", [["ann", 2], ["bob", 1]]),
        ("with a as (select id from t where id > 1), b(k) as (select max(id) from a) select k from b", [[3]]),
        ("with t as (select 7 as id) select id from t", [[7]]),
    ],
)  # fmt: skip
def test_with_names_rows_for_one_statement(text: str, rows: list[list[object]]) -> None:
    made = relations()
    assert made.execute(text).rows == rows
    assert made.execute("select count(*) from t").rows == [[3]]


def test_a_long_chain_of_rows_goes_with_its_first() -> None:
    made = relations()
    made.execute("create table link (id int primary key, before int references link(id) on delete cascade)")
    made.execute("insert into link values (0, null)")
    for number in range(1, 1200):
        made.execute(f"insert into link values ({number}, {number - 1})")
    made.execute("delete from link where id = 0")
    assert made.execute("select count(*) from link").rows == [[0]]
