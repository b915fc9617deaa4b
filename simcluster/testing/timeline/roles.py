"""Names of roles in place of generated names, so that two runs can be matched.

Names that Kubernetes generates end in letters and digits of an alphabet without vowels and without
0, 1 and 3 (k8s.io/apimachinery/pkg/util/rand); that of a CronJob's Job in the minute of its time.
Whose a name is, is read from the name alone, because a recording tells no owners.
"""

from __future__ import annotations

import re

_SAFE = "[bcdfghjklmnpqrstvwxz2456789]"
_OF_CRON_JOB = re.compile(rf"(.+-\d{{8,}})(?:-\d+)?-{_SAFE}{{5}}$")
_CRON_JOB = re.compile(r"(.+)-(\d{8,})$")
_OF_REPLICA_SET = re.compile(rf"((.+)-{_SAFE}{{5,10}})-{_SAFE}{{5}}$")
_REPLICA_SET = re.compile(rf"(.+)-{_SAFE}{{5,10}}$")
_OF_SET = re.compile(rf"(.+)-{_SAFE}{{5}}$")
_SUFFIX = re.compile(rf"-{_SAFE}{{5}}\b")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+(:\d+)?")


class Roles:
    """Which role a generated name plays: `web#2` of the second ReplicaSet, `tidy#1` of the first Job.

    Args:
        nodes: names that messages shall not show.
    """

    def __init__(self, nodes: tuple[str, ...] = ()) -> None:
        self._nodes = sorted(nodes, key=len, reverse=True)
        self._generations: dict[str, list[str]] = {}  # Deployment or CronJob -> what it made, in order
        self._pods: dict[str, dict[str, None]] = {}  # role -> all its pods, in order
        self._role_of: dict[str, str] = {}  # pod ->

    def meet(self, pod: str) -> None:
        """Learn of a pod: pods of a role with one only can be told apart by their events' counts."""
        self._pods.setdefault(self.pod(pod), {})[pod] = None

    def members(self, role: str) -> list[str]:
        """The pods of a role, in the order in which they were met."""
        return list(self._pods.get(role, ()))

    def pod(self, name: str) -> str:
        """The role of a pod."""
        role = self._role_of.get(name)
        if role is None:
            role = self._role_of[name] = self._read(name)
        return role

    def _read(self, name: str) -> str:
        if found := _OF_CRON_JOB.match(name):
            return self.job(found[1])
        if found := _OF_REPLICA_SET.match(name):
            return self._generation(found[2], found[1])
        if found := _OF_SET.match(name):
            return found[1]
        return name

    def replica_set(self, name: str) -> str:
        """The role of a ReplicaSet: a Deployment's n-th."""
        found = _REPLICA_SET.match(name)
        return self._generation(found[1], name) if found else name

    def job(self, name: str) -> str:
        """The role of a Job: a CronJob's n-th, or its own name."""
        found = _CRON_JOB.match(name)
        return self._generation(found[1], name) if found else name

    def of(self, kind: str, name: str) -> str:
        """The role of an object of any kind."""
        readers = {"Pod": self.pod, "ReplicaSet": self.replica_set, "Job": self.job}
        return readers[kind](name) if kind in readers else self.plain(name)

    def plain(self, text: str) -> str:
        """A text without generated names, addresses and names of nodes."""
        for name in sorted(self._role_of, key=len, reverse=True):
            if name in text:
                text = text.replace(name, self._role_of[name])
        for owner, made in self._generations.items():
            for number, name in enumerate(made):
                text = re.sub(rf"\b{re.escape(name)}\b", f"{owner}#{number + 1}", text)
        for node in self._nodes:
            text = text.replace(node, "NODE")
        return _SUFFIX.sub("-SUFFIX", _ADDRESS.sub("ADDRESS", _UID.sub("UID", text)))

    def _generation(self, owner: str, name: str) -> str:
        known = self._generations.setdefault(owner, [])
        if name not in known:
            known.append(name)
        return f"{owner}#{known.index(name) + 1}"
