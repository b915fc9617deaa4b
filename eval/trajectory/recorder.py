"""Records a world every 5 s at four observation depths, with what users met and what was done.

A record is a plain dictionary that JSON can hold, and it is complete: whoever has the
header and the records can compute every verdict again. Recording only reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simcluster.engine import SECOND, AppendLog
from simcluster.eval.trajectory import observe
from simcluster.tasks.model import Task

if TYPE_CHECKING:
    from simcluster.world import World

#: Cadence of records: below the 10-30 s of a reconcile loop, so that none hides between two
#: (system-trajectories paper, appendix F).
PERIOD_NS = 5 * SECOND
#: Every how many records the D3 request is made: 20 s.
PROBE_EVERY = 4
#: Users are counted up to this long before a record: a traffic tick that ends at the very instant
#: of a record may be evaluated after it, and must be counted once.
USERS_LAG_NS = SECOND

Record = dict[str, Any]


class Recorder:
    """The record of one episode.

    Args:
        world: the cluster, healthy, before the incident.
        task: read for its id, depth, protected Services and rate of users; not kept.

    Attributes:
        records: what was seen, oldest first. Entries are never changed.
        protocols: what each protected Service spoke while it was healthy: a repair may call its port anything.
        marks: instants in ns: `start`, and whatever `mark` adds (`incident`, `paged`, `finished`).
        unattended: what the world would have come to from the first write on if nobody had done anything
            (`t_ns`, `availability`, `critical_failing`); empty where no verdict depends on it.
    """

    def __init__(self, world: World, task: Task) -> None:
        store = world.api.store
        self.world = world
        self.namespace = task.namespace
        self.protects = task.protects
        self.rps = task.users.rps
        self.depth = task.committed_depth
        self.task_id = task.id
        self.prober = task.prober
        self.everywhere = task.counts == "cluster"
        self.wanted = (
            observe.wanted_everywhere(store) if self.everywhere else observe.wanted_replicas(store, task.namespace)
        )
        self.critical = observe.critical_components(store)
        self.protocols = {name: observe.spoken(world, task.namespace, name) for name in task.protects}
        self.spread = observe.placement(store, task.namespace)
        self.records: AppendLog[Record] = AppendLog(block=64)
        self.marks: dict[str, int] = {"start": world.sim.now}
        self.unattended: list[Record] = []
        self._commands: list[list[Any]] = []
        self._probes: list[dict[str, Any]] = []
        self._timer = world.sim.every(PERIOD_NS, self.sample)

    def mark(self, what: str) -> None:
        """Note that now is the instant of `what`: `incident`, `paged`, `finished`. The first call counts."""
        self.marks.setdefault(what, self.world.sim.now)

    def command(self, tool: str, *, write: bool, at_ns: int) -> None:
        """Tag the next record: the operator used a tool at an instant; `write` if it may have changed the world.

        A command that took long (a drain) is tagged to the first record after its end.
        """
        self._commands.append([tool, write, at_ns])

    def wrote(self, tool: str, at_ns: int) -> None:
        """The command that was tagged last writes after all: a client's first request of it only looked."""
        if self._commands and self._commands[-1][::2] == [tool, at_ns]:
            self._commands[-1][1] = True
        else:
            self._commands.append([tool, True, at_ns])

    def probed(self, by: str, tool: str, into: str, at_ns: int) -> None:
        """Tag the next record: somebody looked into something (a container, a node, a Service), which ended now."""
        took_ms = round((self.world.sim.now - at_ns) / 1e6, 3)
        self._probes.append({"by": by, "tool": tool, "into": into, "at_ns": at_ns, "took_ms": took_ms})

    def sample(self) -> None:
        """Take one record now (called by the clock)."""
        self._take(probe=len(self.records) % PROBE_EVERY == 0, final=False)

    def left_alone(self, from_ns: int) -> list[Record]:
        """What the verifiers need of the records since an instant, where they are those of a world left alone."""
        return [
            {
                "t_ns": record["t_ns"],
                "availability": record["d1"]["availability"],
                "critical_failing": record["d4"]["critical_failing"],
            }
            for record in self.records
            if record["t_ns"] > from_ns
        ]

    def close(self) -> None:
        """Take the final record, with a probe, and stop."""
        self._timer.cancel()
        self._take(probe=True, final=True)

    def _take(self, *, probe: bool, final: bool) -> None:
        world, store, now = self.world, self.world.api.store, self.world.sim.now
        if self.everywhere:
            ready = observe.readiness_everywhere(store, self.wanted)
        else:
            ready = observe.readiness(store, self.namespace, self.wanted)
        record: Record = {
            "t_ns": now,
            "d1": {
                "ready": ready.ready,
                "total": ready.wanted,
                "availability": ready.availability,
                "not_ready": list(ready.not_ready),
            },
            "d2": {name: len(observe.ready_endpoints(store, self.namespace, name)) for name in self.protects},
            "d3": self._probe() if probe else None,
            "d4": {"critical_failing": observe.critical_failing(store, now, self.critical)},
            "nodes_not_ready": [n["metadata"]["name"] for n in store.objects("nodes") if not observe.is_node_ready(n)],
            "placement": observe.placement(store, self.namespace),
            "users": observe.users_between(world, self._last_ns() - USERS_LAG_NS, now - USERS_LAG_NS),
            "commands": self._commands,
            "probes": self._probes,
            "final": final,
        }
        self._commands, self._probes = [], []
        self.records.append(record)
        world.sim.record("sample", json.dumps(record, sort_keys=True))

    def _last_ns(self) -> int:
        return int(self.records[-1]["t_ns"]) if len(self.records) else self.marks["start"]

    def _probe(self) -> dict[str, Any]:
        found = {}
        for name in self.protects:
            answer = observe.reach(self.world, self.namespace, name, protocol=self.protocols[name], prober=self.prober)
            latency_ms = round(answer.latency_ns / 1e6, 3)
            found[name] = {"reachable": answer.reachable, "status": answer.status, "latency_ms": latency_ms}
        return found

    def header(self) -> dict[str, Any]:
        """What the verifiers need besides the records."""
        return {
            "task": self.task_id,
            "namespace": self.namespace,
            "committed_depth": self.depth,
            "protects": list(self.protects),
            "protocols": self.protocols,
            "rps": self.rps,
            "period_ns": PERIOD_NS,
            "wanted": self.wanted,
            "spread": self.spread,
            "marks": self.marks,
            "unattended": self.unattended,
        }


def write_jsonl(path: Path, header: dict[str, Any], records: Iterable[Record]) -> None:
    """Write a recorded run: the header, then one record a line."""
    lines = [{"kind": "header", **header}, *({"kind": "record", **record} for record in records)]
    path.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in lines))


def read_jsonl(path: Path) -> tuple[dict[str, Any], list[Record]]:
    """Header and records of a recorded run.

    Raises:
        ValueError: a line is no JSON object of a known kind; the message names the line.
    """
    header: dict[str, Any] = {}
    records: list[Record] = []
    for number, text in enumerate(path.read_text().splitlines(), start=1):
        try:
            line = json.loads(text)
            kind = line.pop("kind")
        except (json.JSONDecodeError, AttributeError, KeyError) as error:
            raise ValueError(f"{path}:{number}: this is no line of a recorded run: {error}") from None
        if kind == "header":
            header = line
        elif kind == "record":
            records.append(line)
        else:
            raise ValueError(f"{path}:{number}: unknown kind of line {kind!r}; expected header or record")
    if not header:
        raise ValueError(f"{path}: no header line: this is no recorded run")
    return header, records
