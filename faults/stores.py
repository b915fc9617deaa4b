"""What the stores of a cluster keep of who may do what, and their settings, as facts: part `store` of a workload.

Paths are `users[NAME].roles`, `.password`, `.enabled`, `.superuser`, `.limit`, `.settings[KEY]`, `settings[KEY]`, and
`locks[TABLE]` of sessions that end only when somebody ends them.
Of one of several members of a StatefulSet they stand below `pods[NAME].`. Only of stores that run; reading changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simcluster.api.objects import controller_of
from simcluster.engine import SECOND
from simcluster.faults.devices import NoKnob, Values
from simcluster.faults.facts import Place, leaves, segments
from simcluster.faults.target import FaultTarget
from simcluster.models.apps.stores.accounts import Account
from simcluster.models.apps.stores.postgres.postgres import PostgresProgram
from simcluster.models.apps.stores.program import StoreProgram
from simcluster.models.machine.container import Sandbox
from simcluster.models.machine.machine import Machine

PART = "store"
#: Who holds a lock so long has forgotten it; others come and go.
_LASTING_NS = 3600 * SECOND
#: What a store counts or finds out by itself and keeps among its settings.
_OWN = ("maxmemory-clients",)


def facts_of(target: FaultTarget) -> dict[Place, Values]:
    """What every running store says: place -> path -> value."""
    found: dict[Place, Values] = {}
    for sandbox, program in running(target):
        values: Values = {}
        place, prefix = place_of(target, sandbox, PART), _prefix(target, sandbox)
        for name, account in (program.contents.accounts.users if program.contents is not None else {}).items():
            values |= dict(leaves(_said(account), f"users[{name}]"))
        settings = {key: value for key, value in _settings(program).items() if key not in _OWN}
        values |= {f"settings[{key}]": value for key, value in settings.items()} | _locks(program)
        found[place] = {**found.get(place, {}), **{f"{prefix}{path}": value for path, value in values.items()}}
    return found


def put(target: FaultTarget, place: Place, values: Mapping[str, Any]) -> None:
    """Give facts of a store other values. Raises NoKnob: it does not run, or that is no setting of it."""
    programs = {
        _prefix(target, sandbox): one for sandbox, one in running(target) if place_of(target, sandbox, PART) == place
    }
    for path, value in values.items():
        member, whole, own = path.partition("].") if path.startswith("pods[") else ("", "", path)
        program = programs.get(f"{member}{whole}")
        if program is None or program.contents is None:
            raise NoKnob(f"no store of {place.kind}/{place.name} runs")
        kind, name, *rest = segments(own)
        if kind == "settings":
            _set(program, name, value)
        elif kind == "locks":
            _let_go(program, name)
        else:
            _set_user(program, name, rest, value)
        program.republish()


def running(target: FaultTarget) -> Iterator[tuple[Sandbox, StoreProgram]]:
    """Stores that run, by node and in order of their pods."""
    for _, machine in sorted(target.machines.items()):
        if isinstance(machine, Machine):
            for container in machine.runtime.containers():
                program = getattr(container, "program", None)
                if container.running and isinstance(program, StoreProgram):
                    yield container.sandbox, program


def place_of(target: FaultTarget, sandbox: Sandbox, part: str) -> Place:
    """A part of the workload whose pod it is; of the pod itself, if nobody made it."""
    kind, name = "Pod", sandbox.pod_name
    pod = target.api.store.get("pods", sandbox.namespace, sandbox.pod_name)
    owner = None if pod is None else controller_of(pod)
    if owner is not None:
        kind, name = owner["kind"], owner["name"]
    if kind == "ReplicaSet":
        kind, name = "Deployment", name.rpartition("-")[0]
    return Place(kind, sandbox.namespace, name, part)


def _prefix(target: FaultTarget, sandbox: Sandbox) -> str:
    """Below what its facts stand: of members of a StatefulSet each has its own."""
    place = place_of(target, sandbox, PART)
    owner = target.api.store.get("statefulsets.apps", place.namespace, place.name)
    several = place.kind == "StatefulSet" and owner is not None and owner["spec"].get("replicas", 1) > 1
    return f"pods[{sandbox.pod_name}]." if several else ""


def _settings(program: StoreProgram) -> dict[str, str]:
    found = getattr(program, "config", None) or getattr(program, "settings", None)
    return found if isinstance(found, dict) else {}


def _locks(program: StoreProgram) -> Values:
    sessions = program.sessions.values() if isinstance(program, PostgresProgram) else ()
    lasting = [one for one in sessions if not 0 <= one.until_ns - one.begun_ns < _LASTING_NS]
    return {f"locks[{table}]": mode for one in lasting for table, mode in one.locks}


def _let_go(program: StoreProgram, table: str) -> None:
    """End who holds a lock on a table. Raises NoKnob: nobody takes one for others."""
    if not isinstance(program, PostgresProgram):
        raise NoKnob(f"no lock on {table} can be taken")
    for pid in [pid for pid, one in program.sessions.items() if any(name == table for name, _ in one.locks)]:
        program.end_session(pid)


def _said(account: Account) -> Values:
    return {
        "password": account.password,
        "roles": [f"{role}@{database}" for role, database in account.roles],
        "enabled": account.enabled,
        "superuser": account.superuser,
        "limit": account.limit,
        "settings": dict(account.settings),
    }


def _set(program: StoreProgram, name: str, value: Any) -> None:
    settings = _settings(program)
    if value is None:
        settings.pop(name, None)
    else:
        settings[name] = str(value)
    program.setting_changed(name)


def _set_user(program: StoreProgram, key: str, way: list[str], value: Any) -> None:
    assert program.contents is not None
    users = program.contents.accounts.users
    if key not in users:
        database, _, name = key.rpartition(".")
        users[key] = Account(name, "", database)
    account = users[key]
    if way[0] == "roles":
        account.roles = [(role, database) for role, _, database in (one.partition("@") for one in value or ())]
    elif way[0] == "settings" and len(way) > 1:
        account.settings = {k: v for k, v in {**account.settings, way[1]: value}.items() if v is not None}
    elif way[0] != "settings" and value is not None:
        setattr(account, way[0], value)
    elif way[0] == "password":  # there was no such user
        users.pop(key)
