"""Clients of stores: from another container, by URL, variables and options, refused in the client's own words."""

from __future__ import annotations

import pytest

from simcluster.models.apps.stores.clients import Place, options_from, url_of
from simcluster.models.userland.outcome import Outcome
from tests.clusters.storebench import StoreBench


def bench(image: str, port: int, client: str = "", **env: str) -> StoreBench:
    """A store behind the Service `store`, and a container `cli` of an image that sleeps."""
    made = StoreBench()
    made.run_pod("store", image, env=env, mounts=(made.volume("/data"),))
    made.run_pod("cli", client or image, args=("sleep", "3600"))
    made.service("store", port, ("store",))
    made.run(12)
    return made


def ran(made: StoreBench, pod: str, *argv: str, stdin: str = "") -> Outcome:
    result = made.container(pod).program.run_with_input(argv, stdin)
    assert result is not None, argv
    return result


def test_urls_and_options() -> None:
    assert url_of("postgresql://app:x@db:5433/shop?sslmode=disable") == Place(
        "db", 5433, "app", "x", "shop", "sslmode=disable"
    )
    assert url_of("shop") is None
    assert url_of("redis://:s@cache") == Place("cache", 0, "", "s")
    assert options_from(("-Uapp", "--host=db", "-c", "x"), {"-U": "user", "--host": "host"}) == (
        {"user": "app", "host": "db"},
        ["-c", "x"],
    )


def test_psql_from_another_pod_wants_a_password() -> None:
    made = bench("postgres:16", 5432, POSTGRES_PASSWORD="s3cret", POSTGRES_DB="shop")
    address = made.network.zone["store.shop.svc.cluster.local"]
    head = f'psql: error: connection to server at "store" ({address}), port 5432 failed: '
    asked = ("-h", "store", "-U", "postgres", "-tAc", "select 1")
    assert ran(made, "cli", "psql", *asked) == Outcome("", f"{head}fe_sendauth: no password supplied\n", 2)
    assert ran(made, "cli", "env", "PGPASSWORD=s3cret", "psql", *asked).stdout == "1\n"
    wrong = ran(made, "cli", "env", "PGPASSWORD=no", "psql", *asked)
    assert wrong.stderr == f'{head}FATAL:  password authentication failed for user "postgres"\n'
    assert 'FATAL:  password authentication failed for user "postgres"' in made.text()
    assert ran(made, "cli", "psql", "postgresql://postgres:s3cret@store/shop", "-tAc", "select 1").stdout == "1\n"
    assert ran(made, "store", "psql", "-U", "postgres", "-tAc", "show max_connections").stdout == "100\n"  # trusted
    nobody = ran(made, "cli", "psql", "-h", "nope", "-c", "select 1")
    assert nobody.stderr == 'psql: error: could not translate host name "nope" to address: Name or service not known\n'
    assert "no response" in ran(made, "cli", "pg_isready").stdout
    assert ran(made, "cli", "pg_isready", "-h", "store").stdout == "store:5432 - accepting connections\n"
    made.container("store").exit(1)
    assert "Connection refused" in ran(made, "cli", "psql", *asked).stderr


def test_psql_shows_statistics() -> None:
    made = bench("postgres:16", 5432, POSTGRES_PASSWORD="s3cret", POSTGRES_DB="shop")

    def said(sql: str) -> str:
        return ran(made, "store", "psql", "-U", "postgres", "-tAc", sql).stdout

    assert said("select pg_size_pretty(pg_database_size('shop'))") == "8192 kB\n"
    assert said("select * from pg_stat_replication") == ""
    assert said("select datname, deadlocks from pg_stat_database") == "postgres|0\nshop|0\n"
    assert "shop|postgres|UTF8" in ran(made, "store", "psql", "-U", "postgres", "-A", "-l").stdout


def test_mongosh_by_url_and_host() -> None:
    made = bench("mongo:7.0", 27017, MONGO_INITDB_ROOT_USERNAME="root", MONGO_INITDB_ROOT_PASSWORD="s3cret")
    evaluate = ("--quiet", "--eval", "db.adminCommand({ping: 1})")
    assert ran(made, "cli", "mongosh", "mongodb://root:s3cret@store:27017/admin", *evaluate).stdout == "{ ok: 1 }\n"
    assert ran(made, "cli", "mongosh", "--host", "store", "-u", "root", "-p", "s3cret", *evaluate).code == 0
    wrong = ran(made, "cli", "mongosh", "--host", "store", "-u", "root", "-p", "no", *evaluate)
    assert wrong == Outcome("", "MongoServerError: Authentication failed.\n", 1)
    assert ran(made, "cli", "mongosh", "--host", "nope", *evaluate).stderr == (
        "MongoNetworkError: getaddrinfo ENOTFOUND nope\n"
    )
    assert "ECONNREFUSED 127.0.0.1:27017" in ran(made, "cli", "mongosh", *evaluate).stderr
    make = "db.createUser({user: 'a', pwd: 'b', roles: [{role: 'read', db: 'shop'}]})"
    assert ran(made, "store", "mongosh", "shop", "-u", "root", "-p", "s3cret", "--authenticationDatabase", "admin",
               "--quiet", "--eval", make).code == 0  # fmt: skip
    refused = ran(made, "cli", "mongosh", "mongodb://a:b@store/shop", "--quiet", "--eval", "db.items.insertOne({x: 1})")
    assert (
        refused.stderr
        == 'MongoServerError: not authorized on shop to execute command { insert: "items", $db: "shop" }\n'
    )


def test_mysql_asks_everybody_for_a_password() -> None:
    made = bench("mysql:8.0", 3306, MYSQL_ROOT_PASSWORD="s3cret", MYSQL_DATABASE="shop", MYSQL_USER="app")
    warning = "mysql: [Warning] Using a password on the command line interface can be insecure.\n"
    good = ran(made, "store", "mysql", "-uroot", "-ps3cret", "-e", "show databases")
    assert (good.stdout.splitlines()[0], good.stderr) == ("Database", warning)
    bad = ran(made, "store", "mysql", "-uroot", "-pno", "-e", "select 1")
    denied = "ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: YES)\n"
    assert bad == Outcome("", warning + denied, 1)
    far = ran(made, "cli", "env", "MYSQL_PWD=s3cret", "mysql", "-h", "store", "-uroot", "shop", "-e", "show tables")
    assert far == Outcome("Tables_in_shop\ndata\n", "", 0)
    status = "show status like 'Threads_connected'; select user, host from mysql.user; show grants for 'app'@'%'"
    shown = ran(made, "store", "mysql", "-uroot", "-ps3cret", "-e", status).stdout
    assert "Threads_connected\t1\n" in shown
    assert "app\t%\n" in shown
    assert "GRANT ALL PRIVILEGES ON `shop`.* TO `app`@`%`\n" in shown
    wrong = ran(made, "store", "mysql", "-uroot", "-ps3cret", "-e", "shw tables")
    assert "ERROR 1064 (42000) at line 1: You have an error in your SQL syntax" in wrong.stderr
    assert ran(made, "store", "mysqladmin", "-uroot", "-ps3cret", "status").stdout.startswith("Uptime: ")
    nobody = ran(made, "cli", "mysql", "-hnope", "-uroot", "-e", "select 1")
    assert nobody.stderr == "ERROR 2005 (HY000): Unknown MySQL server host 'nope' (-2)\n"


def test_redis_cli_goes_where_its_options_say() -> None:
    made = bench("redis:7.4", 6379)
    assert "Redis version=7.4.6" in made.text()
    assert ran(made, "cli", "redis-cli", "-h", "store", "set", "k", "v").stdout == "OK\n"
    assert ran(made, "cli", "redis-cli", "-u", "redis://store:6379", "get", "k").stdout == "v\n"
    assert ran(made, "cli", "redis-cli", "ping").stderr == (
        "Could not connect to Redis at 127.0.0.1:6379: Connection refused\n"
    )
    ran(made, "store", "redis-cli", "config", "set", "maxmemory", "64mb")
    assert ran(made, "store", "redis-cli", "config", "get", "maxmemory").stdout == "maxmemory\n67108864\n"
    assert "maxmemory_human:64.00M" in ran(made, "store", "redis-cli", "info", "memory").stdout


@pytest.mark.parametrize(
    ("image", "args", "runs"),
    [
        ("postgres:16", ("sleep", "3600"), False),
        ("postgres:16", ("-c", "max_connections=10"), True),
        ("redis:7.4", ("redis-server", "--save", ""), True),
        ("mongo:7.0", ("--auth",), True),
    ],
)
def test_arguments_that_name_another_program_run_it(image: str, args: tuple[str, ...], runs: bool) -> None:
    made = StoreBench()
    made.run_pod("store", image, args=args, env={"POSTGRES_PASSWORD": "x"})
    made.run(8)
    assert hasattr(made.container("store").program, "contents") == runs
    assert made.container("store").running
