"""What a DBA asks PostgreSQL by psql: lists and tables by schema, errors with their place, sessions, checkpoints."""

from __future__ import annotations

import re

import pytest

from simcluster.models.userland.outcome import Outcome
from tests.clusters.storebench import StoreBench
from tests.models.apps.stores.test_relational import ENV, loads

MADE = (
    "create table t (id serial primary key, name varchar(8) not null default 'x', u text unique); "
    "create index ti on t (name); create schema s; "
    'create table s."order" (t int references t (id) on delete cascade, at timestamp)'
)


def bench(*args: str) -> StoreBench:
    made = StoreBench()
    made.catalog.add(loads("postgres"))
    made.run_pod("store", "postgres:17.6", args=args, env=ENV, mounts=(made.volume("/var/lib/postgresql/data"),))
    made.run(5)
    made.caller(5432, "postgres-go", "order", rps=20, user="postgres", password="secret", database="catalog")
    made.run(10)
    return made


def ran(made: StoreBench, *words: str, stdin: str = "") -> Outcome:
    argv = ("psql", "-U", "postgres", "-d", "catalog", *words)
    result = made.container("store").program.run_with_input(argv, stdin)
    assert result is not None
    return result


@pytest.fixture(scope="module")
def world() -> StoreBench:
    made = bench()
    assert ran(made, "-c", MADE).stdout == "CREATE TABLE\nCREATE INDEX\nCREATE SCHEMA\nCREATE TABLE\n"
    return made


@pytest.mark.parametrize(
    ("command", "rows"),
    [
        ("\\dn", ["catalog|postgres", "public|pg_database_owner", "s|postgres"]),
        ("\\dt", ["public|t|table|postgres"]),
        ("\\dt *.*", ["catalog|products|table|postgres", "public|t|table|postgres", "s|order|table|postgres"]),
        ("\\dt catalog.p*", ["catalog|products|table|postgres"]),
        ("\\di", ["public|t_pkey|index|postgres|t", "public|t_u_key|index|postgres|t", "public|ti|index|postgres|t"]),
        ("\\d", ["public|t|table|postgres", "public|t_id_seq|sequence|postgres"]),
        ("\\dx", ["plpgsql|1.0|pg_catalog|PL/pgSQL procedural language"]),
        ("\\l cat*", ["catalog|postgres|UTF8|libc|en_US.utf8|en_US.utf8|||"]),
        ("select nspname from pg_namespace where nspowner = 10 order by 1",
         ["catalog", "information_schema", "pg_catalog", "pg_toast", "s"]),
        ("select schemaname, tablename, hasindexes from pg_tables order by 1",
         ["catalog|products|t", "public|t|t", "s|order|f"]),
        ("select indexdef from pg_indexes where indexname = 'ti'",
         ["CREATE INDEX ti ON public.t USING btree (name)"]),
        ("select column_name, data_type from information_schema.columns where table_name = 't' and is_nullable = 'NO'",
         ["id|integer", "name|character varying"]),
        ("select T.NAME from public.T", []),
    ],
)  # fmt: skip
def test_lists(world: StoreBench, command: str, rows: list[str]) -> None:
    if "public.T" in command:
        command = command.replace("public.T", "public.t T")
    assert ran(world, "-tA", "-c", command).stdout.splitlines() == rows


def test_a_table_as_psql_describes_it(world: StoreBench) -> None:
    assert ran(world, "-c", "\\d t").stdout == (
        '                                   Table "public.t"\n'
        " Column |         Type         | Collation | Nullable |            Default            \n"
        "--------+----------------------+-----------+----------+-------------------------------\n"
        " id     | integer              |           | not null | nextval('t_id_seq'::regclass)\n"
        " name   | character varying(8) |           | not null | 'x'::character varying\n"
        " u      | text                 |           |          | \n"
        "Indexes:\n"
        '    "t_pkey" PRIMARY KEY, btree (id)\n'
        '    "t_u_key" UNIQUE CONSTRAINT, btree (u)\n'
        '    "ti" btree (name)\n'
        "Referenced by:\n"
        '    TABLE "s."order"" CONSTRAINT "order_t_fkey" FOREIGN KEY (t) REFERENCES t(id) ON DELETE CASCADE\n\n'
    )
    assert 'Table "s.order"' in ran(world, "-c", '\\d s."order"').stdout
    assert "Access method: heap\n" in ran(world, "-c", "\\d+ s.*").stdout
    assert 'primary key, btree, for table "public.t"' in ran(world, "-c", "\\d t_pkey").stdout


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("select * from nope",
         'ERROR:  relation "nope" does not exist\nLINE 1: select * from nope\n' + " " * 22 + "^\n"),
        ("select nope from t",
         'ERROR:  column "nope" does not exist\nLINE 1: select nope from t\n' + " " * 15 + "^\n"),
        ("insert into t (nme) values ('a')",
         'ERROR:  column "nme" of relation "t" does not exist\nLINE 1: insert into t (nme) values (\'a\')\n'
         + " " * 23 + "^\n"),
        ("selec 1", 'ERROR:  syntax error at or near "selec"\nLINE 1: selec 1\n        ^\n'),
        ("select * from", "ERROR:  syntax error at end of input\nLINE 1: select * from\n" + " " * 21 + "^\n"),
        ("select * form t", 'ERROR:  syntax error at or near "form"\nLINE 1: select * form t\n' + " " * 17 + "^\n"),
        ("select x.id from t",
         'ERROR:  missing FROM-clause entry for table "x"\nLINE 1: select x.id from t\n' + " " * 15 + "^\n"),
        ("select count(*) from products",
         'ERROR:  relation "products" does not exist\nLINE 1: select count(*) from products\n' + " " * 29 + "^\n"),
        ("select foo(1)",
         "ERROR:  function foo(unknown) does not exist\nLINE 1: select foo(1)\n" + " " * 15 + "^\n"
         "HINT:  No function matches the given name and argument types. You might need to add explicit type casts.\n"),
        ("\\d nope", 'Did not find any relation named "nope".\n'),
        ("\\nope", "invalid command \\nope\n"),
        ("drop schema nope", 'ERROR:  schema "nope" does not exist\n'),
    ],
)  # fmt: skip
def test_errors_show_their_place(world: StoreBench, command: str, said: str) -> None:
    assert ran(world, "-c", command) == Outcome("", said, 1)


def test_long_lines_are_cut_and_the_log_names_the_statement(world: StoreBench) -> None:
    said = ran(world, "-c", "select a_long_name_that_is_not_there, another_one_of_them from t where id = 5 and u = 'x'")
    assert said.stderr.splitlines()[1] == "LINE 1: select a_long_name_that_is_not_there, another_one_of_them fr..."
    assert 'ERROR:  column "a_long_name_that_is_not_there" does not exist at character 8\n' in world.text()
    assert "STATEMENT:  select a_long_name_that_is_not_there" in world.text()


def test_commands_go_on_after_an_error_or_stop(world: StoreBench) -> None:
    on = ran(world, "-tA", "-c", "select * from nope", "-c", "select 1")
    assert (on.stdout, on.code) == ("1\n", 0)
    assert ran(world, "-tA", "-c", "select 1", "-c", "select * from nope").code == 1
    stopped = ran(world, "-tA", "-v", "ON_ERROR_STOP=1", "-c", "select * from nope", "-c", "select 1")
    assert (stopped.stdout, stopped.code) == ("", 1)
    typed = ran(world, "-tA", stdin="select 1;\n\nselect *\n  from nope;\nselect 2;\n")
    assert (typed.stdout, typed.code) == ("1\n2\n", 0)
    assert "LINE 2:   from nope;\n               ^\n" in typed.stderr
    assert ran(world, "-v", "ON_ERROR_STOP=1", stdin="nope; select 2;").code == 3


def test_switches_of_printing(world: StoreBench) -> None:
    assert ran(world, "-tA", "-F,", "-c", "select 1, 'a'").stdout == "1,a\n"
    assert ran(world, "--csv", "-c", "select 1 as a, 'x,y' as b").stdout == 'a,b\n1,"x,y"\n'
    assert ran(world, "-q", "-c", "set work_mem = '1MB'").stdout == ""
    assert "\n 100\n" in ran(world, "-c", "show max_connections").stdout  # a text stands left
    assert ran(world, "-tA", "-c", "set search_path = catalog; \\dt").stdout == (
        "SET\ncatalog|products|table|postgres\n"
    )


def test_sessions_have_addresses_roles_and_a_beginning(world: StoreBench) -> None:
    asked = (
        "select usename, datname, client_addr, client_hostname is null, client_port > 1024, backend_start from "
        "pg_stat_activity where client_addr is not null"
    )
    lines = ran(world, "-tA", "-c", asked).stdout.splitlines()
    caller = world.container("caller")
    assert len(lines) == 3
    for line in lines:
        assert line.startswith(f"postgres|catalog|{caller.sandbox.address}|t|t|2026-03-02 09:00:05")


def test_a_checkpoint_takes_no_longer_than_it_may() -> None:
    made = bench("-c", "checkpoint_timeout=30s")
    made.run(60)
    store = made.store()
    assert store.storage is not None
    store.storage._begun_ns -= 10**15  # so much idle time is skipped at once
    made.run(40)
    found = re.findall(r"wrote (\d+) buffers .* write=([\d.]+) s", made.text())
    assert len(found) >= 2
    for buffers, seconds in found:
        assert 0.0 < float(seconds) <= min(28.0, int(buffers) * 0.1 + 2.0)
