"""What a DBA asks MySQL by its client: variables, status, sessions, tables as they were made, and how it is printed."""

from __future__ import annotations

import re

import pytest

from simcluster.models.userland.outcome import Outcome
from tests.clusters.storebench import StoreBench


def bench(image: str = "mysql:8.0") -> StoreBench:
    made = StoreBench()
    env = {"MYSQL_ROOT_PASSWORD": "s", "MYSQL_DATABASE": "shop", "MYSQL_USER": "app"}
    made.run_pod("store", image, env=env, mounts=(made.volume("/var/lib/mysql"),))
    made.run_pod("cli", image, args=("sleep", "3600"))
    made.caller(3306, "mysql-go", "update", rps=20.0, user="root", password="s", database="shop")
    made.run(30)
    return made


def asked(made: StoreBench, sql: str, *more: str, pod: str = "store", user: str = "root") -> Outcome:
    where = ("-hstore",) if pod == "cli" else ()
    password = "MYSQL_PWD=s" if user == "root" else "MYSQL_PWD="
    words = ("env", password, "mysql", *where, f"-u{user}", *more, "-e", sql, "shop")
    result = made.container(pod).program.run_with_input(words, "")
    assert result is not None
    return result


@pytest.fixture(scope="module")
def world() -> StoreBench:
    return bench()


@pytest.mark.parametrize(
    ("sql", "printed"),
    [
        ("show variables like '%read_only%'",
         "Variable_name\tValue\ninnodb_read_only\tOFF\nread_only\tOFF\nsuper_read_only\tOFF\n"
         "transaction_read_only\tOFF\n"),
        ('SHOW GLOBAL VARIABLES LIKE "max_connections"', "Variable_name\tValue\nmax_connections\t151\n"),
        ("show variables where variable_name in ('port', 'read_only') and value = 'OFF'",
         "Variable_name\tValue\nread_only\tOFF\n"),
        ("show status like 'Threads_con%'", "Variable_name\tValue\nThreads_connected\t4\n"),
        ("select @@hostname, @@global.read_only as ro, @@Super_Read_Only",
         "@@hostname\tro\t@@Super_Read_Only\nstore\t0\t0\n"),
        ("Select VERSION( ),database(),user()", "VERSION( )\tdatabase()\tuser()\n8.0.39\tshop\troot@localhost\n"),
        ("desc data", "Field\tType\tNull\tKey\tDefault\tExtra\n_id\tvarchar(255)\tNO\tPRI\tNULL\t\n"),
        ("show tables like 'da%'", "Tables_in_shop (da%)\ndata\n"),
        ("show replica status", ""),
        ("select 7 / 2, 'x', 1 / 0", "7 / 2\tx\t1 / 0\n3.5000\tx\tNULL\n"),
        ("select schema_name from information_schema.schemata where schema_name like 's%'",
         "SCHEMA_NAME\nshop\nsys\n"),
        ("select Host from mysql.user where user = 'app'", "Host\n%\n"),
        ("select variable_value from performance_schema.global_variables where variable_name = 'port'",
         "variable_value\n3306\n"),
        ("select 1 as a\\G", "*************************** 1. row ***************************\na: 1\n"),
        ("select ';' as a -- comment\n; # more\n", "a\n;\n"),
    ],
)  # fmt: skip
def test_what_is_asked_in_any_case_of_letters(world: StoreBench, sql: str, printed: str) -> None:
    assert asked(world, sql) == Outcome(printed)


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("select nope from data where 1", "1054 (42S22) at line 1: Unknown column 'nope' in 'field list'"),
        ("select _id from data where nope = 1", "1054 (42S22) at line 1: Unknown column 'nope' in 'where clause'"),
        ("show create table nope", "1146 (42S02) at line 1: Table 'shop.nope' doesn't exist"),
        ("select * form data", "near 'form data' at line 1"),
        ("show slave statu", "near 'slave statu' at line 1"),
        ("select @@nope", "1193 (HY000) at line 1: Unknown system variable 'nope'"),
        ("set max_connections = 3", "1229 (HY000) at line 1: Variable 'max_connections' is a GLOBAL variable"),
        ("set global port = 1", "1238 (HY000) at line 1: Variable 'port' is a read only variable"),
        ("set global read_only = maybe", "1231 (42000) at line 1: Variable 'read_only' can't be set to the value"),
        ("set global max_connections = many", "1232 (42000) at line 1: Incorrect argument type"),
        ("\n\nselct 1", "1064 (42000) at line 3"),
        ("select * from information_schema.nope", "1109 (42S02) at line 1: Unknown table 'NOPE' in information_schema"),
    ],
)
def test_what_is_refused_and_how(world: StoreBench, sql: str, error: str) -> None:
    done = asked(world, sql)
    assert (done.stdout, done.code) == ("", 1)
    assert done.stderr.startswith("ERROR ")
    assert error in done.stderr


def test_sessions_have_an_address_and_a_user(world: StoreBench) -> None:
    lines = [line.split("\t") for line in asked(world, "show processlist", pod="cli").stdout.splitlines()[1:]]
    address = world.container("caller").sandbox.address
    mine = world.container("cli").sandbox.address
    hosts = [line[2] for line in lines if line[4] == "Sleep"]
    assert len(set(hosts)) == 3
    assert all(re.fullmatch(re.escape(address) + r":\d{5}", host) for host in hosts)
    assert {(line[1], line[3]) for line in lines if line[4] == "Sleep"} == {("root", "shop")}
    assert lines[-1][2].startswith(f"{mine}:")
    assert asked(world, "select count(*) from information_schema.processlist where host like '10.%'").stdout == (
        "count(*)\n3\n"
    )


def test_forms_of_printing(world: StoreBench) -> None:
    assert asked(world, "select 1 as a, 'x' as b", "-t").stdout == (
        "+---+---+\n| a | b |\n+---+---+\n| 1 | x |\n+---+---+\n"
    )
    assert asked(world, "select 1 as a", "-N").stdout == "1\n"
    assert asked(world, "select 'a\tb' as t", "-Ns").stdout == "a\\tb\n"
    assert asked(world, "nope; select 2", "-Nf").stdout == "2\n"
    assert asked(world, "select sleep(2)").delay_ns == 2_000_000_000
    result = world.container("store").program.run_with_input(("mysql", "--version"), "")
    assert result is not None
    assert result.stdout == "mysql  Ver 8.0.39 for Linux on x86_64 (MySQL Community Server - GPL)\n"


def test_tables_as_they_were_made() -> None:
    made = bench()
    asked(made, "create table b (id int auto_increment primary key, mail varchar(20) not null default 'x', "
          "t text, unique (mail)); create table o (id bigint primary key, b int, foreign key (b) references b (id) "
          "on delete cascade); insert into b (mail) values ('a'), ('b')")  # fmt: skip
    shown = asked(made, "show create table b; show create table o", "-Nr").stdout
    tail = "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci\n"
    assert shown == (
        "b\tCREATE TABLE `b` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `mail` varchar(20) NOT NULL DEFAULT 'x',\n"
        "  `t` text,\n  PRIMARY KEY (`id`),\n  UNIQUE KEY `mail` (`mail`)\n) ENGINE=InnoDB AUTO_INCREMENT=3 " + tail +
        "o\tCREATE TABLE `o` (\n  `id` bigint NOT NULL,\n  `b` int DEFAULT NULL,\n  PRIMARY KEY (`id`),\n"
        "  KEY `b` (`b`),\n  CONSTRAINT `o_ibfk_1` FOREIGN KEY (`b`) REFERENCES `b` (`id`) ON DELETE CASCADE\n"
        ") ENGINE=InnoDB " + tail
    )  # fmt: skip
    assert asked(made, "show index from b", "-N").stdout.count("BTREE") == 2
    rows = "select table_name, table_rows from information_schema.tables where table_schema = 'shop' and table_rows < 9"
    assert asked(made, rows, "-N").stdout == "b\t2\no\t0\n"
    assert asked(made, "select mail, o.id from b left join o on o.b = b.id order by 1", "-N").stdout == (
        "a\tNULL\nb\tNULL\n"
    )


def test_settings_move_what_is_shown_and_who_may_write() -> None:
    made = bench()
    asked(made, "set global read_only = 1, global max_connections = 200")
    shown = "select @@read_only, @@super_read_only, @@max_connections"
    assert asked(made, shown, "-N").stdout == "1\t0\t200\n"
    assert asked(made, "create table own (a int)").code == 0  # root is above it
    assert "--read-only option" in asked(made, "create table more (a int)", user="app").stderr
    asked(made, "set global read_only = off; set global super_read_only = on")
    assert asked(made, shown, "-N").stdout == "1\t1\t200\n"
    assert "1290 (HY000)" in asked(made, "insert into own values (1)").stderr
    asked(made, "set @@global.read_only = OFF; set global max_connections = default")
    assert asked(made, shown, "-N").stdout == "0\t0\t151\n"
    assert "1227 (42000)" in asked(made, "set global read_only = 1", user="app").stderr
    assert asked(made, "set sql_safe_updates = 1; show session variables like 'sql_safe%'", "-N").stdout == (
        "sql_safe_updates\tON\n"
    )


def test_old_and_new_versions_know_other_statements() -> None:
    old, new = bench("mysql:5.7.34"), bench("mysql:8.4")
    assert "near 'replica status'" in asked(old, "show replica status").stderr
    assert asked(old, "show slave status; show master status") == Outcome()
    assert "near 'master status'" in asked(new, "show master status").stderr
    assert asked(new, "show binary log status", "-N").stdout.startswith("binlog.000001\t")
    assert asked(old, "create table x (id int); desc x", "-N").stdout == "id\tint(11)\tYES\t\tNULL\t\n"
