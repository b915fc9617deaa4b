"""The relational stores: WAL, blocks, sessions, users; PostgreSQL's words and MySQL's."""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.models.apps.behaviour import Application
from simcluster.models.apps.stores.postgres.postgres import PostgresProgram
from simcluster.models.machine.containerspec import Mount
from simcluster.models.machine.storage import slow
from simcluster.models.traffic.cluster.users import UserLoad, UserStats
from tests.clusters.storebench import StoreBench

FOLDER = "/var/local-path-provisioner/data"
ENV = {"POSTGRES_PASSWORD": "secret", "POSTGRES_DB": "catalog", "POSTGRES_INITDB_ARGS": "--data-checksums"}
WORK = {"law": "exponential", "mean": "200us"}
TABLES = {"catalog": {"size": "1Gi", "hot": "300Mi", "tables": ("catalog.products",)}}


def loads(store: str) -> Application:
    read = {"work": WORK, "io": {"data": "catalog", "reads": 2, "command": "SELECT"}}
    write = {
        "work": WORK,
        "io": {"data": "catalog", "reads": 0, "writes": 1, "grow": "2Ki", "command": "INSERT"},
    }
    entry = {"store": store, "data": TABLES, "operations": {"products": read, "order": write}}
    return Application.model_validate({"application": "shop", "stores": (entry,)})


def bench(*args: str, env: dict[str, str] | None = None) -> StoreBench:
    made = StoreBench()
    made.catalog.add(loads("postgres"))
    mounts = (made.volume("/var/lib/postgresql/data"),)
    made.run_pod("store", "postgres:17.6", args=args, env=ENV if env is None else env, mounts=mounts)
    made.run(5)
    return made


def postgres(made: StoreBench) -> PostgresProgram:
    program = made.store()
    assert isinstance(program, PostgresProgram)
    return program


def psql(made: StoreBench, command: str, *more: str) -> str:
    result = postgres(made).run(("psql", "-U", "postgres", "-d", "catalog", *more, "-c", command))
    assert result is not None
    return result.stdout + result.stderr


def lately(made: StoreBench, users: UserLoad, seconds: int = 3) -> UserStats:
    return users.window(made.sim.now - seconds * SECOND, made.sim.now)


def data_file(made: StoreBench) -> str:
    return max(made.disk.files_below(FOLDER), key=made.disk.size_of)


def test_it_starts_serves_and_writes_checkpoints() -> None:
    made = bench("-c", "checkpoint_timeout=30s")
    users = made.caller(5432, "postgres-go", "order", rps=30, user="postgres", password="secret", database="catalog")
    made.run(90)
    assert "database system is ready to accept connections" in made.text()
    assert "checkpoint complete: wrote" in made.text()
    assert lately(made, users).failed == 0
    store = made.store()
    assert store.server is not None
    assert store.server.spec.operations[-1].latency_ns > 2_000_000  # a commit waits for the disk


def test_without_a_password_it_does_not_start() -> None:
    made = bench(env={})
    assert "superuser password is not specified" in made.text()
    assert made.container("store").exit_code == 1


def test_blocks_that_cannot_be_read_fail_statements_and_not_the_server() -> None:
    made = bench()
    users = made.caller(5432, "postgres-go", "products", rps=40, timeout_s=10.0)
    made.run(3)
    made.disk.spoil_random(data_file(made), 1_500, "bad")
    made.run(60)
    assert "could not read block" in made.text()
    assert 'in file "base/' in made.text()
    assert made.container("store").running
    assert lately(made, users, 30).failed > 0


def test_wrong_blocks_are_found_only_with_checksums() -> None:
    for env, found in ((ENV, True), ({k: v for k, v in ENV.items() if "INITDB" not in k}, False)):
        made = bench(env=env)
        made.caller(5432, "postgres-go", "products", rps=60)
        made.run(3)
        made.disk.corrupt_random(data_file(made), 1_500, "bad")
        made.run(20)
        assert ("page verification failed, calculated checksum" in made.text()) is found
        assert ("invalid page in block" in made.text()) is found


def test_a_wal_that_cannot_be_written_is_a_panic_with_recovery() -> None:
    made = bench()
    users = made.caller(5432, "postgres-go", "order", rps=20)
    made.run(5)
    assert made.disk.remount(read_only=True) == ""
    made.run(2)
    assert "PANIC:  could not" in made.text()
    assert "all server processes terminated; reinitializing" in made.text()
    made.disk.remount()
    made.run(10)
    assert "automatic recovery in progress" in made.text()
    assert lately(made, users).failed == 0
    assert made.container("store").running


def test_a_full_disk_refuses_what_grows() -> None:
    made = bench()
    users = made.caller(5432, "postgres-go", "order", rps=300)
    made.run(2)
    available = made.disk.usage().available_bytes
    assert made.disk.allocate("/var/local-path-provisioner/filler", available - (40 << 20)) == ""
    made.run(60)
    assert "No space left on device" in made.text()
    assert lately(made, users).failed > 0


def test_a_slow_disk_makes_slow_commits() -> None:
    made = bench()
    users = made.caller(5432, "postgres-go", "order", rps=10, timeout_s=0.2)
    made.run(5)
    assert lately(made, users).failed == 0
    made.disk.disk.fail_slow(slow.constant(30.0))
    made.run(10)
    assert lately(made, users).failed > 0


def test_logins_connections_and_rights() -> None:
    made = bench()
    psql(made, "CREATE USER shop WITH PASSWORD 'one'")
    users = made.caller(5432, "postgres-go", "order", rps=20, user="shop", password="one", database="catalog")
    made.run(3)
    assert lately(made, users, 2).failed == 0
    for command, words in (
        ("ALTER USER shop WITH PASSWORD 'two'", 'FATAL:  password authentication failed for user "shop"'),
        ("ALTER USER shop WITH PASSWORD 'one' NOLOGIN", 'role "shop" is not permitted to log in'),
        ("ALTER ROLE shop LOGIN", ""),
        ("REVOKE INSERT ON catalog.products FROM shop", "permission denied for table products"),
        ("GRANT ALL ON catalog.products TO shop", ""),
        ("ALTER ROLE shop SET default_transaction_read_only = on", "cannot execute INSERT in a read-only transaction"),
    ):
        assert "ERROR" not in psql(made, command)
        made.run(4)
        assert (lately(made, users, 2).ok == 0) is bool(words), command
        assert words in made.text()


def test_too_few_connections() -> None:
    made = bench("-c", "max_connections=5")
    users = made.caller(5432, "postgres-go", "order", rps=20)
    made.run(4)
    assert "FATAL:  sorry, too many clients already" in made.text()
    assert lately(made, users, 2).ok == 0
    assert psql(made, "ALTER SYSTEM SET max_connections = 50") == "ALTER SYSTEM\n"
    made.container("store").terminate()
    made.run(1)
    made.restart("store")
    made.run(8)
    assert psql(made, "SHOW max_connections", "-t", "-A") == "5\n"  # the command line counts more
    made.run_pod("other", "postgres:17.6", env=ENV)


def test_a_lock_that_is_held_blocks_others_until_its_session_ends() -> None:
    made = bench()
    users = made.caller(5432, "postgres-go", "products", rps=20)
    made.run(3)
    psql(made, "BEGIN; LOCK TABLE catalog.products IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(86400);")
    made.run(6)
    assert lately(made, users, 2).ok == 0
    assert "AccessExclusiveLock" in psql(made, "SELECT * FROM pg_locks")
    [pid] = postgres(made).sessions
    assert "active" in psql(made, "SELECT * FROM pg_stat_activity WHERE state = 'active'")
    psql(made, f"SELECT pg_terminate_backend({pid})")
    made.run(6)
    assert lately(made, users, 2).failed == 0


def test_psql_shows_what_there_is() -> None:
    made = bench()
    assert psql(made, "select 1") == " ?column? \n----------\n        1\n(1 row)\n\n"
    assert "catalog" in psql(made, "\\l")
    assert "Superuser" in psql(made, "\\du")
    assert psql(made, "select count(*) from catalog.products", "-tA") == f"{(1 << 30) // 1024}\n"
    assert "feature not supported: VACUUM" in psql(made, "VACUUM FULL")
    ready = postgres(made).run(("pg_isready",))
    assert ready is not None
    assert ready.code == 0


def test_scripts_of_the_first_start_make_users() -> None:
    made = StoreBench()
    made.catalog.add(loads("postgres"))
    script = Mount("/docker-entrypoint-initdb.d", "configMap", (("init.sql", "CREATE USER a PASSWORD 'b';"),), True)
    made.run_pod("store", "postgres:17.6", env=ENV, mounts=(script,))
    made.run(5)
    assert postgres(made).login("a", "b") == ""
    assert postgres(made).login("a", "c") == 'password authentication failed for user "a"'


def mysql(image: str = "mysql:8.4", **env: str) -> StoreBench:
    made = StoreBench()
    made.catalog.add(loads("mysqld"))
    env = {"MYSQL_ROOT_PASSWORD": "r", "MYSQL_DATABASE": "catalog", "MYSQL_USER": "shop", "MYSQL_PASSWORD": "p", **env}
    made.run_pod("store", image, env=env, mounts=(made.volume("/var/lib/mysql"),))
    made.run(10)
    return made


def test_mysql_serves_asks_for_passwords_and_dies_of_its_disk() -> None:
    made = mysql()
    users = made.caller(3306, "mysql-go", "products", rps=40, user="shop", password="p", database="catalog")
    made.run(4)
    assert lately(made, users, 2).failed == 0
    made.store().run(("mysql", "-uroot", "-pr", "-e", "ALTER USER 'shop'@'%' IDENTIFIED BY 'q'"))
    made.run(3)
    assert "Access denied for user 'shop'@'10.244.1." in made.text()
    assert lately(made, users, 2).ok == 0
    made.store().run(("mysql", "-uroot", "-pr", "-e", "ALTER USER 'shop'@'%' IDENTIFIED BY 'p'"))
    made.disk.spoil_random(data_file(made), 1_500, "bad")
    made.run(30)
    assert "Error number 5 means 'Input/output error'" in made.text()
    assert made.container("store").exit_code == 134
