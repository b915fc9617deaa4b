"""A password that was changed in a store and in a Secret, and pods that began before."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, field_validator

from simcluster.api.objects import ApiObject, name_of
from simcluster.engine.content import Content
from simcluster.faults.commands.command import Command, CommandParams
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.facts import Place
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.readers import readers_at_start
from simcluster.faults.stores import place_of
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ObjectRef, missing
from simcluster.models.machine.machine import Machine


class RotationParams(Content):
    """The Secret with its new `values`, and in which `store` (`Kind/name`) the command `run` makes them valid."""

    secret: str
    values: dict[str, str] = Field(min_length=1)
    store: str
    run: str | tuple[str, ...]
    container: str = ""

    @field_validator("store")
    @classmethod
    def _kind_and_name(cls, value: str) -> str:
        ObjectRef.parse(value)
        return value


class SecretRotation(Mechanism):
    """A password is rotated: the store and the Secret have the new one, pods that run have the old one.

    Symptoms: the program is refused by its store, though Secret and store agree; its pods run, and none is young.
    Shows in: `password authentication failed` in the store's log, callers' errors, the environment of the process.
    Undone by: making the pods anew, or the old password in both places.
    """

    sheet = DataSheet(
        layer="application",
        family="stale_secret",
        changes=("data*", "store *users*"),
        follows="The store refuses what the pods bring until they are made anew and read the Secret again.",
        undone_by=("a restart of the pods", "the old password in Secret and store"),
        source="SREGym, secret_rotation_stale_env_credentials; kubelet, environment of containers",
    )
    Params = RotationParams
    params: RotationParams
    kinds = ("Deployment", "StatefulSet", "DaemonSet")

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return f"what its pods have of Secret/{self.params.secret}"

    @property
    def others(self) -> tuple[ObjectRef, ...]:
        """The Secret and the store."""
        return (ObjectRef(kind="Secret", name=self.params.secret), ObjectRef.parse(self.params.store))

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"secret": self.params.secret}

    def check(self, target: FaultTarget) -> None:
        """Pods that run must have the values of the Secret from their start on, and the store must take the command."""
        super().check(target)
        secret = self._secret(target)
        if secret is None:
            raise missing(ObjectRef(kind="Secret", name=self.params.secret), target.api, self.namespace)
        unknown = sorted(set(self.params.values) - set(secret.get("data") or {}))
        if unknown:
            known = ", ".join(sorted(secret.get("data") or {}))
            raise ImpossibleTarget(f"Secret/{self.params.secret} has no key {unknown[0]!r}; it has {known}")
        place = Place("Secret", self.namespace, self.params.secret)
        if readers_at_start(target.api.store, place):  # else somebody may yet come to read it
            self._check_held(target)
        self._command().check(target)

    def _check_held(self, target: FaultTarget) -> None:
        if not any(key in self.params.values for _, _, key, _ in self._held(target)):
            keys = ", ".join(sorted(self.params.values))
            raise ImpossibleTarget(f"no variable of {self.ref} comes from {keys} of Secret/{self.params.secret}")

    def inject(self, target: FaultTarget) -> None:
        """Change it in the store, then in the Secret. Raises ImpossibleTarget: no pod has it from there."""
        self._check_held(target)
        self._command().inject(target)
        client = target.client(self.deployer.user, self.deployer.manager)
        data = {key: _encoded(value) for key, value in self.params.values.items()}
        client.patch("secrets", self.namespace, self.params.secret, {"data": data}, kind="merge")

    def still_present(self, target: FaultTarget) -> str:
        """A container of it runs with another value than the Secret has."""
        secret = self._secret(target)
        data: Mapping[str, str] = {} if secret is None else secret.get("data") or {}
        for pod, variable, key, value in self._held(target):
            if key in self.params.values and key in data and data[key] != _encoded(value):
                return f"Pod/{pod} of {self.ref} has {variable} from before Secret/{self.params.secret} was changed"
        return ""

    def _command(self) -> Command:
        given = CommandParams(run=self.params.run, container=self.params.container)
        return Command(ObjectRef.parse(self.params.store), self.namespace, given, self.deployer)

    def _secret(self, target: FaultTarget) -> ApiObject | None:
        return target.api.store.get("secrets", self.namespace, self.params.secret)

    def _held(self, target: FaultTarget) -> Iterator[tuple[str, str, str, str]]:
        """Pod, variable, key and value of what its running containers have from the Secret."""
        for _, machine in sorted(target.machines.items()):
            for one in machine.runtime.containers() if isinstance(machine, Machine) else ():
                place = place_of(target, one.sandbox, "")
                if not one.running or (place.kind, place.namespace, place.name) != (
                    self.ref.kind, self.namespace, self.ref.name):  # fmt: skip
                    continue
                pod = target.api.store.get("pods", self.namespace, one.sandbox.pod_name)
                spec = next((c for c in pod["spec"]["containers"] if c["name"] == one.spec.name), None) if pod else None
                if pod is None or spec is None:
                    continue
                has = dict(one.spec.env)
                for variable, key in _from(spec, self.params.secret, self.params.values):
                    if variable in has:
                        yield name_of(pod), variable, key, has[variable]


def _from(container: Mapping[str, Any], secret: str, keys: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Variable and key of what a container takes from a Secret."""
    for source in container.get("envFrom") or ():
        if (source.get("secretRef") or {}).get("name") == secret:
            yield from ((f"{source.get('prefix') or ''}{key}", key) for key in keys)
    for variable in container.get("env") or ():
        ref = (variable.get("valueFrom") or {}).get("secretKeyRef") or {}
        if ref.get("name") == secret:
            yield variable["name"], ref["key"]


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
