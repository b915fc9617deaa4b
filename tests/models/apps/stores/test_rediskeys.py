"""Keys that a Redis only counts: SCAN, KEYS, TYPE, values, times and sizes agree with each other and with DBSIZE."""

from __future__ import annotations

import pickle

import pytest

from simcluster.engine import SECOND
from simcluster.models.apps.behaviour import Application
from simcluster.models.apps.stores.demand import IoModel
from simcluster.models.apps.stores.redis.introspection import elements, encoding
from simcluster.models.apps.stores.redis.redis import RedisProgram
from simcluster.models.apps.stores.redis.redisdata import Value
from simcluster.models.apps.stores.redis.redisdatabase import matcher
from tests.clusters.storebench import StoreBench

_WORK = {"law": "exponential", "mean": "20us"}


def bench(image: str = "redis:7.4", *, expires: bool = False) -> StoreBench:
    """A shop that keeps carts as hashes."""
    made = StoreBench()
    commands = {"HMGET": (1, 0), "HSET": (0, 1)}
    operations = {
        name: {"work": _WORK, "io": {"data": "carts", "reads": reads, "writes": writes, "command": name}}
        for name, (reads, writes) in commands.items()
    }
    data = {"carts": {"size": "256Ki", "document": 512, "tables": ["cart"]}}
    made.catalog.add(
        Application.model_validate(
            {"application": "shop", "stores": ({"store": "redis", "data": data, "operations": operations},)}
        )
    )
    made.run_pod("store", image, mounts=(made.volume("/data"),))
    made.run(2)
    made.caller(6379, "stackexchange-redis", "HSET", rps=100)
    made.run(8)
    program = made.store()
    assert isinstance(program, RedisProgram)
    heard = ("HMGET", "HSET", "EXPIRE") if expires else ("HMGET", "HSET")
    models = [IoModel(data="carts", command=name, writes=float(name == "HSET")) for name in heard]
    program.counted.hear(models, [1] * len(models))
    return made


@pytest.fixture(scope="module")
def kept() -> bytes:
    return pickle.dumps(bench(expires=True))


@pytest.fixture
def shop(kept: bytes) -> StoreBench:
    return pickle.loads(kept)  # type: ignore[no-any-return]


def cli(made: StoreBench, line: str, program: str = "redis-cli") -> str:
    result = made.store().run((program, *line.split()))
    assert result is not None
    return result.stdout


def test_scan_keys_and_dbsize_agree(shop: StoreBench) -> None:
    count = int(cli(shop, "dbsize"))
    assert count > 50
    names = cli(shop, "--scan").split()
    assert len(set(names)) == len(names) == count
    assert cli(shop, "keys *").split() == names
    cursor, found, rounds = "0", list[str](), 0
    while rounds == 0 or cursor != "0":
        cursor, *some = cli(shop, f"scan {cursor} count 7").split()
        found, rounds = found + some, rounds + 1
        assert len(some) <= 7
    assert (found, rounds > count // 8) == (names, True)
    assert cli(shop, "randomkey").strip() in names
    head = names[0][:3]
    assert cli(shop, f"--scan --pattern {head}*").split() == [name for name in names if name.startswith(head)]
    assert cli(shop, "scan 0 type string count 1000") == "0\n\n"
    assert cli(shop, "scan x") == "ERR invalid cursor\n"
    assert cli(shop, "-n 1 keys *") == "\n"


def test_a_counted_key_is_what_all_commands_say(shop: StoreBench) -> None:
    name = cli(shop, "--scan").split()[3]
    assert cli(shop, f"type {name}") == "hash\n"
    assert cli(shop, f"hkeys {name}").split() == ["absexp", "sldexp", "data"]
    assert name in cli(shop, f"hget {name} data")
    assert cli(shop, f"get {name}").startswith("WRONGTYPE")
    left, idle = int(cli(shop, f"ttl {name}")), int(cli(shop, f"object idletime {name}"))
    assert 3590 <= left + idle <= 3601
    assert cli(shop, f"memory usage {name}") == "608\n"
    assert cli(shop, f"object refcount {name}") == "1\n"
    assert cli(shop, f"object encoding {name}") in ("hashtable\n", "listpack\n")
    assert "An LFU maxmemory policy is not selected" in cli(shop, f"object freq {name}")
    assert cli(shop, "object encoding nope") == "\n"
    count = int(cli(shop, "dbsize"))
    assert f"keys={count},expires={count}" in cli(shop, "info keyspace")
    assert int(cli(shop, "--scan | wc -l").count("\n")) == count  # what follows an option is not read


def test_a_counted_key_that_is_written_or_deleted_leaves_the_count(shop: StoreBench) -> None:
    count, names = int(cli(shop, "dbsize")), cli(shop, "--scan").split()
    assert cli(shop, f"del {names[0]} {names[5]} nope") == "2\n"
    assert int(cli(shop, "dbsize")) == count - 2
    assert sorted(cli(shop, "--scan").split()) == sorted(set(names) - {names[0], names[5]})
    assert cli(shop, f"exists {names[0]}") == "0\n"
    assert cli(shop, f"hset {names[1]} note x") == "1\n"
    assert cli(shop, f"hlen {names[1]}") == "4\n"
    assert int(cli(shop, "dbsize")) == count - 2
    shop.traffic.users.clear()
    assert cli(shop, "flushall") == "OK\n"
    assert (cli(shop, "dbsize"), cli(shop, "--scan")) == ("0\n", "")
    shop.run(2)


def test_names_outlive_a_restart_with_the_data(shop: StoreBench) -> None:
    shop.traffic.users.clear()
    shop.run(1)
    before = set(cli(shop, "--scan").split())
    shop.container("store").terminate()
    shop.run(2)
    shop.restart("store")
    shop.run(3)
    assert set(cli(shop, "--scan").split()) == before


def test_the_largest_keys(shop: StoreBench) -> None:
    count = int(cli(shop, "dbsize"))
    cli(shop, "set note hello")
    said = cli(shop, "--bigkeys")
    assert f"Sampled {count + 1} keys in the keyspace!\n" in said
    assert "Biggest string found '\"note\"' has 5 bytes\n" in said
    assert f"{count} hashs with {3 * count} fields (" in said
    assert f"{count} hashs with {608 * count} bytes (" in cli(shop, "--memkeys")


def test_clients_have_addresses_and_ages(shop: StoreBench) -> None:
    lines = cli(shop, "client list").splitlines()
    caller, store = shop.container("caller").sandbox, shop.container("store").sandbox
    assert len(lines) == int(cli(shop, "info clients").partition("connected_clients:")[2].split()[0])
    fields = dict(word.partition("=")[::2] for word in lines[0].split())
    assert fields["addr"].rpartition(":")[0] == caller.address
    assert fields["laddr"] == f"{store.address}:6379"
    assert 0 < int(fields["age"]) <= (shop.sim.now - shop.container("caller").started_ns) // SECOND
    assert lines[-1].split()[1].startswith("addr=127.0.0.1:")
    assert "cmd=client|list user=default redir=-1 resp=2 lib-name= lib-ver=" in lines[-1]
    assert int(cli(shop, "client id")) < int(cli(shop, "client id"))


def test_latency_is_watched_from_a_threshold_on(shop: StoreBench) -> None:
    assert "Latency monitoring is disabled in this Redis instance" in cli(shop, "latency doctor")
    assert cli(shop, "latency latest") == "\n"
    assert cli(shop, "config set latency-monitor-threshold 100") == "OK\n"
    assert "no latency spike was observed during the lifetime of this Redis instance" in cli(shop, "latency doctor")
    assert cli(shop, "latency reset") == "0\n"
    least, most, mean, count = cli(shop, "--latency").split()
    assert (int(least), int(count)) == (0, 96)
    assert 0.0 < float(mean) <= int(most)
    assert cli(shop, "--latency-history -i 1").count("\n") == 96
    program = shop.store()
    assert isinstance(program, RedisProgram)
    program.config["slowlog-log-slower-than"] = "1"
    cli(shop, "config set latency-monitor-threshold 1")
    shop.run(20)
    spiky = [one for one in program.slow if one.took_us >= 1000]
    assert (cli(shop, "latency latest") == "\n") == (not spiky)


def test_plain_scripts(shop: StoreBench) -> None:
    def said(*words: str) -> str:
        result = shop.store().run(("redis-cli", *words))
        assert result is not None
        return result.stdout

    cli(shop, "set k v")
    get = "return redis.call('get', KEYS[1])"
    assert said("eval", get, "1", "k") == "v\n"
    digest = said("script", "load", get).strip()
    assert (len(digest), said("evalsha", digest, "1", "k")) == (40, "v\n")
    assert said("script", "exists", digest, "x") == "1\n0\n"
    assert said("evalsha", "0" * 40, "0") == "NOSCRIPT No matching script. Please use EVAL.\n"
    assert said("eval", "return {KEYS[1],ARGV[1]}", "1", "a", "b") == "a\nb\n"
    assert said("eval", "return 1", "-1") == "ERR Number of keys can't be negative\n"
    assert said("eval", "return redis.call('hget', 'k', 'f')", "0").startswith("WRONGTYPE Operation against a key")


def test_commands_are_counted(shop: StoreBench) -> None:
    said = cli(shop, "info commandstats")
    program = shop.store()
    calls = int(said.partition("cmdstat_hset:calls=")[2].partition(",")[0])
    assert calls == program.served_by_command()["HSET"] > 100
    assert ",rejected_calls=0,failed_calls=0" in said
    assert "cmdstat" not in cli(shop, "info")
    assert "cmdstat_hset" in cli(shop, "info everything")
    assert 50 < int(cli(shop, "info stats").partition("instantaneous_ops_per_sec:")[2].split()[0]) < 200


def test_valkey_names_itself() -> None:
    made = bench("valkey/valkey:8.1-alpine")
    assert "server_name:valkey\r\nvalkey_version:8.1.4" in cli(made, "info server", "valkey-cli")
    assert cli(made, "ttl " + cli(made, "randomkey").strip()) == "-1\n"
    assert "disabled in this Valkey instance" in cli(made, "latency doctor")


def test_encodings_and_patterns() -> None:
    values = {
        "int": Value("string", "12"), "embstr": Value("string", "x" * 44), "raw": Value("string", "x" * 45),
        "listpack": Value("list", ["a"]), "quicklist": Value("list", ["a" * 9000]),
        "intset": Value("set", {"1": None}), "hashtable": Value("hash", {"a": "x" * 65}),
        "skiplist": Value("zset", {"x" * 65: 1.0}),
    }  # fmt: skip
    assert {name: encoding(value) for name, value in values.items()} == {name: name for name in values}
    assert (elements(values["embstr"]), elements(values["intset"])) == (44, 1)
    globs = {"a?c": True, "a\\*c": True, "[^b]*": True, "a\\?c": False}
    assert {glob: bool(matcher(glob).fullmatch("a*c")) for glob in globs} == globs
