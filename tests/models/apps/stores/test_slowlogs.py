"""Slow logs: an entry stands there when its query has ended, with how long it took, and only if that was long."""

from __future__ import annotations

import re

from simcluster.engine import MILLISECOND
from simcluster.models.apps.behaviour import Application
from tests.clusters.storebench import StoreBench


def bench(kind: str, image: str, mount: str, port: int, client: str, **more: object) -> StoreBench:
    """A store one of whose operations takes 300 ms on average, asked ten times a second."""
    made = StoreBench()
    io = {"data": "shop", "reads": 1, "command": "GET" if kind == "redis" else "SELECT"}
    work = {"law": "exponential", "mean": "10ms" if kind == "redis" else "1ms"}
    steps = [] if kind == "redis" else [{"wait": {"law": "lognormal", "mean": "300ms", "cv": 0.7}}]
    operations = {"look": {"work": work, "steps": steps, "io": io}}
    data = {"shop": {"size": "1Mi", "tables": ["carts"], "key": "user_id"}}
    made.catalog.add(
        Application.model_validate(
            {"application": "shop", "stores": ({"store": kind, "data": data, "operations": operations},)}
        )
    )
    env = {"POSTGRES_PASSWORD": "x", "POSTGRES_DB": "shop", "MYSQL_ROOT_PASSWORD": "x", "MYSQL_DATABASE": "shop"}
    made.run_pod("store", image, env=env, mounts=(made.volume(mount),), args=more.get("args", ()))  # type: ignore[arg-type]
    made.run(8)
    login = {} if kind == "redis" else {"user": more["user"], "password": "x", "database": "shop"}
    made.caller(port, client, "look", rps=10, timeout_s=10.0, **login)  # type: ignore[arg-type]
    return made


def test_postgres_tells_of_statements_that_took_longer_than_its_setting() -> None:
    args = ("postgres", "-c", "log_min_duration_statement=250")
    made = bench(
        "postgres", "postgres:17.6", "/var/lib/postgresql/data", 5432, "postgres-go", args=args, user="postgres"
    )
    made.run(3)
    begun = made.sim.now
    made.run(30)
    lines = [line for line in made.container("store").log.read(since_ns=begun) if "duration:" in line.text]
    assert all(line.stream == "stderr" and begun < line.t_ns <= made.sim.now for line in lines)
    took = []
    for line in lines:
        found = re.fullmatch(
            r"\S+ \S+ UTC \[\d+\] LOG:  duration: (\d+\.\d{3}) ms  execute <unnamed>: "
            r"SELECT \* FROM carts WHERE user_id = \$1",
            line.text,
        )
        assert found is not None, line.text
        took.append(float(found[1]))
    assert min(took) > 250.0
    # Of 10 a second 52 % take longer than 250 ms (lognormal, mean 300 ms, cv .7, and 1 ms of CPU time).
    assert 90 < len(took) < 210
    assert len({line.t_ns % (500 * MILLISECOND) for line in lines}) > len(lines) // 2  # when they ended, off the ticks


def test_postgres_tells_of_none_unless_it_is_asked() -> None:
    made = bench("postgres", "postgres:17.6", "/var/lib/postgresql/data", 5432, "postgres-go", user="postgres")
    made.run(10)
    assert "duration:" not in made.text()
    shell = made.store().run(("psql", "-U", "postgres", "-c", "ALTER SYSTEM SET log_min_duration_statement = '1s'"))
    assert shell is not None
    made.store().run(("psql", "-U", "postgres", "-c", "SELECT pg_reload_conf()"))
    made.run(30)
    took = [float(found) for found in re.findall(r"duration: (\d+\.\d+) ms", made.text())]
    assert took
    assert min(took) > 1000.0


def test_mysql_writes_a_file_once_it_is_switched_on() -> None:
    made = bench("mysqld", "mysql:8.4", "/var/lib/mysql", 3306, "mysql-go", user="root")
    store = made.store()

    def asked(what: str) -> str:
        answer = store.run(("mysql", "-uroot", "-px", "-e", what))
        assert answer is not None
        return answer.stdout

    made.run(2)
    asked("SET GLOBAL long_query_time = 0.4")
    made.run(10)
    assert int(asked("SHOW GLOBAL STATUS LIKE 'Slow_queries'").split()[-1]) > 5
    assert store.folder is not None
    assert "/store-slow.log" not in store.folder.layer().files
    asked("SET GLOBAL slow_query_log = 'ON'")
    made.run(10)
    text = store.folder.layer().files["/store-slow.log"] or ""
    entries = text.split("# Time: ")[1:]
    assert len(entries) > 5
    for entry in entries:
        stamp, user, query, when, sent = entry.splitlines()
        assert stamp.endswith("Z")
        assert user.startswith("# User@Host: ")
        assert float(query.split()[2]) > 0.4
        assert when.startswith("SET timestamp=")
        assert sent == "SELECT * FROM carts WHERE user_id = ?;"


def test_redis_keeps_the_newest_commands_whose_execution_was_slow() -> None:
    made = bench("redis", "redis:8.2.1", "/data", 6379, "redis-go", args=("--slowlog-max-len", "16"))

    def asked(*words: str) -> list[str]:
        answer = made.store().run(("redis-cli", *words))
        assert answer is not None
        return answer.stdout.splitlines()

    made.run(20)
    assert asked("SLOWLOG", "LEN") == ["16"]
    got = asked("SLOWLOG", "GET", "3")
    numbers, took = [int(got[at]) for at in (0, 7, 14)], [int(got[at]) for at in (2, 9, 16)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] - numbers[2] == 2
    assert min(took) > 10_000
    assert got[3] == "GET"
    assert asked("SLOWLOG", "RESET") == ["OK"]
    assert asked("SLOWLOG", "LEN") == ["0"]
    assert asked("CONFIG", "SET", "slowlog-log-slower-than", "-1") == ["OK"]
    made.run(5)
    assert asked("SLOWLOG", "LEN") == ["0"]
