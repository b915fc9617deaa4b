"""The document store: its disk, its users, its cache, its ends and its beginnings again."""

from __future__ import annotations

import json
import time

import pytest

from simcluster.engine import SECOND, fork
from simcluster.models.apps.behaviour import Application
from simcluster.models.machine.containerspec import Mount
from simcluster.models.machine.storage import slow
from simcluster.models.traffic.cluster.users import UserLoad, UserStats
from tests.clusters.storebench import StoreBench

WORK = {"law": "exponential", "mean": "200us"}
SHOP = {
    "application": "shop",
    "stores": (
        {
            "store": "mongod",
            "data": {"shop": {"size": "2Gi", "hot": "400Mi", "tables": ("carts",)}},
            "operations": {
                "read": {"work": WORK, "io": {"data": "shop", "command": "find"}},
                "write": {
                    "work": WORK,
                    "io": {"data": "shop", "writes": 1, "durable": True, "command": "update", "grow": "1Ki"},
                },
            },
        },
    ),
}
FOLDER = "/var/local-path-provisioner/data"


def bench(*args: str, image: str = "mongo:4.4.6", **more: object) -> StoreBench:
    made = StoreBench()
    made.catalog.add(Application.model_validate(SHOP))
    made.run_pod("store", image, args=args, mounts=(made.volume("/data/db"),), **more)  # type: ignore[arg-type]
    made.run(3)
    return made


def lately(made: StoreBench, users: UserLoad, seconds: int = 5) -> UserStats:
    return users.window(made.sim.now - seconds * SECOND, made.sim.now)


def data_file(made: StoreBench) -> str:
    return next(name for name in made.disk.files_below(FOLDER) if "collection-" in name)


def test_its_data_lie_on_the_volume_and_its_cache_fills_by_reads() -> None:
    made = bench()
    users = made.caller(27017, "mgo", "read", rps=40, database="shop")
    made.run(10)
    first = made.store().storage
    assert first is not None
    assert lately(made, users).failed == 0
    assert made.disk.size_of(data_file(made)) == 2 << 30
    assert first.totals["reads"] > 200
    assert first.cache.held == pytest.approx(first.totals["reads"] * (32 << 10), rel=0.01)
    assert made.container("store").memory_bytes > 90 << 20


def test_a_slow_disk_makes_slow_operations_and_late_callers() -> None:
    made = bench()
    users = made.caller(27017, "mgo", "read", rps=60, database="shop")
    made.run(10)
    calm = lately(made, users)
    made.disk.disk.fail_slow(slow.constant(20.0))
    made.run(15)
    bad = lately(made, users)
    assert (calm.failed, bad.failed > bad.sent // 2) == (0, True)
    assert "Slow query" in made.text()
    made.disk.disk.recover()
    made.run(10)
    assert lately(made, users).failed == 0


def test_a_block_that_cannot_be_read_ends_it_after_the_drive_has_tried_and_again_after_a_restart() -> None:
    made = bench()
    users = made.caller(27017, "mgo", "read", rps=60, database="shop")
    made.run(5)
    made.disk.spoil_random(data_file(made), 4_000, "bad")
    made.run(20)
    container = made.container("store")
    assert (container.state, container.exit_code) == ("exited", 14)
    assert "pread: failed to read 4096 bytes at offset" in made.text()
    assert "Input/output error" in made.text()
    assert "***aborting after invariant() failure" in made.text()
    assert lately(made, users, 1).failed > 0
    made.restart("store")
    made.run(40)
    assert "Detected unclean shutdown" in made.text()
    assert made.container("store").exit_code == 14


def test_a_wrong_block_is_found_by_its_checksum() -> None:
    made = bench()
    made.caller(27017, "mgo", "read", rps=60, database="shop")
    made.run(5)
    assert "checksum" not in made.text()
    made.disk.corrupt_random(data_file(made), 4_000, "bad")
    made.run(20)
    text = made.text()
    assert "potential hardware corruption, read checksum error for 4096B block" in text
    assert "WT_PANIC: WiredTiger library panic" in text
    assert made.container("store").exit_code == 14


def test_a_dead_disk_stops_the_journal_and_the_server() -> None:
    made = bench()
    made.caller(27017, "mgo", "write", rps=30, database="shop")
    made.run(5)
    made.disk.disk.fail_stop()
    made.run(200)
    assert made.container("store").state == "exited"
    assert made.container("store").exit_code == 14


def test_durable_writes_pay_for_the_journal_and_checkpoints_come_every_minute() -> None:
    made = bench()
    users = made.caller(27017, "mgo", "write", rps=20, database="shop")
    made.run(150)
    store = made.store()
    assert store.storage is not None
    assert store.server is not None
    assert store.storage.totals["checkpoints"] == 2
    assert store.server.spec.operations[-1].latency_ns > 2_000_000
    assert lately(made, users).failed == 0


def test_a_killed_server_recovers_and_a_stopped_one_need_not() -> None:
    made = bench()
    made.caller(27017, "mgo", "write", rps=20, database="shop")
    made.run(20)
    made.container("store").kill()
    made.restart("store")
    made.run(5)
    assert "Recovering data from the last clean checkpoint." in made.text()
    made.container("store").terminate()
    made.run(2)
    assert made.container("store").exit_code == 0
    made.restart("store")
    made.run(5)
    assert "unclean" not in made.text()
    assert made.pods["store"].listens_on(27017)


def test_users_and_rights() -> None:
    script = (
        "mongo admin --eval \"db.createUser({user: 'root', pwd: 'root', roles: [{role: 'root', db: 'admin'}]});\"\n"
    )
    script += (
        "mongo admin --eval \"db.createUser({user: 'app', pwd: 'pw', roles: [{role: 'readWrite', db: 'shop'}]});\"\n"
    )
    made = StoreBench()
    made.catalog.add(Application.model_validate(SHOP))
    scripts = Mount("/docker-entrypoint-initdb.d", "configMap", (("init.sh", script),), True, "scripts")
    made.run_pod("store", "mongo:4.4.6", args=("--auth",), mounts=(made.volume("/data/db"), scripts))
    made.run(3)
    users = made.caller(27017, "mgo", "read", rps=20, user="app", password="pw", database="shop")
    made.run(3)
    assert lately(made, users, 2).failed == 0
    root = ("mongo", "admin", "-u", "root", "-p", "root", "--authenticationDatabase", "admin", "--eval")
    shell = made.store().run
    shell((*root, "db.revokeRolesFromUser('app', [{role: 'readWrite', db: 'shop'}]);"))
    made.run(3)
    assert lately(made, users, 2).ok == 0
    assert 'not authorized on shop to execute command { find: \\"carts\\"' in made.text()
    shell((*root, "db.grantRolesToUser('app', [{role: 'readWrite', db: 'shop'}])"))
    made.run(3)
    assert lately(made, users, 2).failed == 0
    shell((*root, "db.dropUser('app')"))
    made.run(3)
    assert lately(made, users, 2).ok == 0
    assert 'UserNotFound: Could not find user \\"app\\"' in made.text()
    refused = shell(("mongo", "admin", "--eval", "db.getUsers()"))
    assert refused is not None
    assert "requires authentication" in refused.stdout
    wrong = shell(("mongo", "-u", "root", "-p", "no", "--eval", "1"))
    assert wrong is not None
    assert (wrong.code, "Authentication failed" in wrong.stdout) == (1, True)


def test_a_full_or_read_only_disk_and_old_data() -> None:
    made = bench()
    made.caller(27017, "mgo", "write", rps=200, database="shop")
    made.run(2)
    usage = made.disk.usage()
    assert made.disk.allocate("/var/local-path-provisioner/filler", usage.available_bytes - (1 << 20)) == ""
    made.run(60)
    assert "No space left on device" in made.text()
    made.disk.remove("/var/local-path-provisioner/filler")
    made.restart("store")
    made.run(5)
    assert made.container("store").running
    made.container("store").kill()
    spec = made.container("store").spec
    made.run_pod("store", "mongo:8.0.14-rc0", mounts=spec.mounts)
    made.run(3)
    assert made.container("store").exit_code == 62
    made.run_pod("store", "mongo:4.4.6", mounts=(Mount("/data/db", "configMap", (), True, "x"),))
    made.run(3)
    assert made.container("store").exit_code == 100


def test_the_shell_shows_what_there_is() -> None:
    made = bench()
    made.caller(27017, "mgo", "read", rps=20, database="shop")
    made.run(3)
    shell = made.store().run
    answers = [
        shell(("mongo", "shop", "--quiet", "--eval", code))
        for code in (
            "db.serverStatus().connections.current",
            "db.carts.count()",
            "db.getCollectionNames()",
            "nonsense(1)",
        )
    ]
    assert [a.stdout.split()[0] if a else "" for a in answers][:2] == ["3", str((2 << 30) // 1024)]
    assert answers[2] is not None
    assert "carts" in answers[2].stdout
    assert answers[3] is not None
    assert "not defined" in answers[3].stdout
    line = json.loads(made.text().splitlines()[0])
    assert (line["c"], line["id"]) == ("CONTROL", 4615611)


def test_a_fork_goes_the_same_way() -> None:
    made = bench()
    made.caller(27017, "mgo", "write", rps=40, database="shop")
    made.run(10)
    other = fork(made)
    for each in (made, other):
        each.disk.spoil_random(data_file(each), 4_000, "bad")
        each.run(20)
    assert made.text() == other.text()
    assert made.sim.now == other.sim.now


def test_what_an_application_has_of_years_is_there_once() -> None:
    made = StoreBench()
    described = {**SHOP["stores"][0], "data": {"shop": {"size": "2Gi", "fresh": "64Ki", "hot": "8Mi"}}}  # type: ignore[dict-item]
    made.catalog.add(Application.model_validate({**SHOP, "stores": (described,)}))
    sizes: list[int] = []
    for volume in ("data", "other", "data"):
        made.run_pod("store", "mongo:4.4.6", mounts=(made.volume("/data/db", volume),))
        made.run(3)
        if not sizes:
            made.caller(27017, "mgo", "read", rps=5, database="shop")
        made.run(3)
        storage = made.store().storage
        assert storage is not None
        sizes.append(storage.contents.databases["shop"].size)
        made.container("store").exit(0)
    assert sizes == [2 << 30, 64 << 10, 2 << 30]


def test_who_begins_on_an_empty_folder_names_and_dates_its_files_anew() -> None:
    made = StoreBench()
    made.catalog.add(Application.model_validate(SHOP))
    names, dates = [], []
    for volume in ("data", "other", "data"):
        made.run_pod("store", "mongo:4.4.6", mounts=(made.volume("/data/db", volume),))
        if not names:
            made.caller(27017, "mgo", "read", rps=5, database="shop")
        made.run(30)
        made.container("store").exit(0)
        listed = made.machine.run(("ls", "-l", f"/var/local-path-provisioner/{volume}"))
        assert listed is not None
        files = {line.split()[-1]: line.split()[5:8] for line in listed.stdout.splitlines()[1:]}
        names.append([name for name in files if name.startswith("collection-")])
        dates.append(files["WiredTiger.wt"])
        made.run(90)
    assert [len(each) for each in names] == [1, 1, 1]
    assert names[0] == names[2] != names[1]
    assert [each[2] for each in dates] == ["09:00", "09:02", "09:00"]


def test_few_reads_are_put_to_the_disk_as_they_come_in_life() -> None:
    made = bench()
    made.caller(27017, "mgo", "read", rps=3, database="shop")
    made.run(60)
    storage = made.store().storage
    assert storage is not None
    assert storage.totals["reads"] == pytest.approx(180, rel=0.3)
    counted = made.disk.disk.counted()
    assert counted.read_ns / counted.reads < 20e6  # each alone, not all of a tick at once


def test_one_thread_writes_the_journal() -> None:
    made = bench()
    made.disk.disk.fail_slow(slow.constant(100.0))
    made.caller(27017, "mgo", "write", rps=20, database="shop")
    made.run(30)
    storage = made.store().storage
    assert storage is not None
    assert storage.totals["fsyncs"] < 60  # a flush takes seconds: what comes meanwhile goes with the next
    assert storage.totals["log_bytes"] > 0


def test_what_is_typed_goes_on_after_a_mistake() -> None:
    made = bench(image="mongo:7.0")
    typed = "use shop\ndb.n.insertOne({_id: 1})\nfoo\nvar x = 2\ndb.n.find()\nit\nexit\nprint('never')\n"
    said = made.store().run_with_input(("mongosh", "--quiet"), typed)
    assert said is not None
    assert said.code == 0
    assert said.stdout == (
        "switched to db shop\n{ acknowledged: true, insertedId: 1 }\nReferenceError: foo is not defined\n"
        "[ { _id: 1 } ]\nno cursor\n"
    )
    last = made.store().run(("mongosh", "--quiet", "--eval", "db.version(); var y = 1; 1 + y"))
    assert last is not None
    assert last.stdout == "2\n"


def test_the_old_shell_prints_in_its_own_way() -> None:
    made = bench()

    def said(code: str) -> str:
        answer = made.store().run(("mongo", "--quiet", "--eval", code))
        assert answer is not None
        return answer.stdout

    assert said("db.n.insert({_id: 1})") == 'WriteResult({ "nInserted" : 1 })\n'
    assert said("db.n.insert({_id: 1}, {x: 1})").startswith("uncaught exception: Error: E11000 duplicate key error")
    assert said("db.n.update({_id: 1}, {$set: {a: 2}})") == (
        'WriteResult({ "nMatched" : 1, "nUpserted" : 0, "nModified" : 1 })\n'
    )
    assert said("db.n.find()") == '{ "_id" : 1, "a" : 2 }\n'
    assert said("db.n.find().toArray()") == '[ { "_id" : 1, "a" : 2 } ]\n'
    assert said("db.n.remove({}).nRemoved") == "1\n"
    assert said("db.n.nope()") == "uncaught exception: TypeError: db.n.nope is not a function :\n@(shell eval):1:1\n"
    assert said("db.n.drop()") == "true\n"
    assert said("db.n.drop()") == "false\n"


def test_a_first_script_that_fails_ends_the_container() -> None:
    made = StoreBench()
    made.catalog.add(Application.model_validate(SHOP))
    scripts = Mount("/docker-entrypoint-initdb.d", "configMap", (("init.js", "db.x.nope()"),), True, "scripts")
    made.run_pod("store", "mongo:7.0", mounts=(made.volume("/data/db"), scripts))
    made.run(3)
    assert made.container("store").exit_code == 1
    assert "TypeError: db.x.nope is not a function" in made.text()


MANY = "db.z.insertMany([...Array(9000)].map((_, i) => ({i})))"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (f"{MANY}; db.z.updateMany({{}}, {{$set: {{a: 1}}}}).modifiedCount", "9000"),
        (f"{MANY}; db.z.aggregate([{{$group: {{_id: '$i'}}}}]).toArray().length", "9000"),
        (f"{MANY}; db.z.find({{$or: [...Array(500)].map(() => ({{i: -1}}))}}).count()", "Killed"),
        ("let a = {}; a.a = a; db.z.find(a)", "RangeError: Maximum call stack size exceeded"),
        ("for (;;) db.z.insertOne({a: 1})", "Killed"),
    ],
)  # fmt: skip
def test_many_documents_take_their_time_and_no_more(code: str, said: str) -> None:
    begun = time.process_time()
    answer = bench(image="mongo:7.0").store().run(("mongosh", "--quiet", "--eval", code))
    assert answer is not None
    assert time.process_time() - begun < 4.0
    assert (answer.stdout + answer.stderr).strip() == said
