"""The agent that does anything whatever: a floor for what luck mends."""

from __future__ import annotations

import hashlib

from simcluster.agents.restarter import application_namespaces
from simcluster.engine.streams import mix
from simcluster.surface.protocols import Session

#: Actions, and what it waits after each.
ACTIONS, PAUSE = 6, "30s"


class Random:
    """Does one of a few usual things to a workload drawn by lot, again and again, and blames the last one."""

    name = "random"

    def run(self, session: Session) -> None:
        """Draw, act, wait. The same page draws the same."""
        key = int.from_bytes(hashlib.blake2b(session.alert.encode(), digest_size=8).digest(), "big")
        drawn = iter(range(10**6))
        blamed = ""
        for _ in range(ACTIONS):
            there = [
                (namespace, name)
                for namespace in application_namespaces(session)
                for name in session.kubectl(f"get deployments -n {namespace} -o name").stdout.split()
            ]
            if there:
                namespace, name = there[mix(key, next(drawn)) % len(there)]
                plain = name.rpartition("/")[2]
                act = (
                    f"rollout restart deployment/{plain} -n {namespace}",
                    f"rollout undo deployment/{plain} -n {namespace}",
                    f"scale deployment/{plain} --replicas=2 -n {namespace}",
                    f"logs deployment/{plain} -n {namespace} --tail=20",
                )
                session.kubectl(act[mix(key, next(drawn)) % len(act)])
                blamed = f"Deployment {plain} was rolled out with a wrong image."
            session.wait(PAUSE)
        if blamed:
            session.diagnose(blamed)
