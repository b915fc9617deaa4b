"""Any change of any object of the API, as a deployer makes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, model_validator

from simcluster.api.errors import ApiError
from simcluster.api.handlers.patching import patched
from simcluster.api.handlers.vetting import default, refuse_create, refuse_update, vet
from simcluster.api.objects import ApiObject, Json, thaw
from simcluster.api.request import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from simcluster.api.resources import Resource
from simcluster.engine import MILLISECOND, format_rfc3339
from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet, fits
from simcluster.faults.deployer import LAST_APPLIED, Deployer, redeploy
from simcluster.faults.facts import ChangedFact, Place, essence, leaves, put_at, segments
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.survey import value_of
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ObjectRef, missing, resource_of
from simcluster.faults.values import concrete

_TYPES = {"strategic": STRATEGIC_MERGE_PATCH, "merge": MERGE_PATCH, "json": JSON_PATCH}
#: Who applies manifests leaves a copy of them in the object.
_APPLIES = "kubectl-client-side-apply"
#: The annotation of `kubectl rollout restart` (kubectl, pkg/polymorphichelpers/objectrestarter.go).
_RESTARTED = "kubectl.kubernetes.io/restartedAt"
_DETAILS_MAX = 3
#: What the API server says of a number where it wants a text, and what an author of YAML does about it.
_NUMBER, _AS_TEXT = "cannot unmarshal number", "; write the number in quotes, and so the default of an input: '1'"
#: Who makes an object anew asks so often, and so many times, whether the old one is gone.
_GONE_EVERY_NS = 250 * MILLISECOND
_GONE_TRIES = 19


class ChangeParams(Content):
    """What is done to the object: exactly one of these.

    Attributes:
        create: the manifest; kind and name are the target's.
        set: path of a value -> what it is set to; null removes it. `[NAME]` is an entry of a list, `[0]` one by its
            number, `[*]` each.
        patch: a patch of this `type`.
        delete: whether it is deleted.
        renew: it is deleted and made anew with these values (as `set`), which may be unchangeable ones.
        scale: how many replicas it gets, by the scale subresource: the copy that apply keeps stays as it is.
        roll: whether its pods are replaced by a restart.
    """

    create: dict[str, Any] | None = None
    set: dict[str, Any] = Field(default_factory=dict)
    patch: Any = None
    type: Literal["strategic", "merge", "json"] = "strategic"
    delete: bool = False
    renew: dict[str, Any] | None = None
    scale: int | str | None = None
    roll: bool = False

    @model_validator(mode="after")
    def _one_deed(self) -> ChangeParams:
        deeds = (self.create, self.set or None, self.patch, self.delete or None, self.renew, self.scale,
                 self.roll or None)  # fmt: skip
        if sum(deed is not None for deed in deeds) != 1:  # integers
            raise ValueError("give exactly one of create, set, patch, delete, renew, scale and roll")
        return self


class ObjectChange(Mechanism):
    """An object is created, changed, deleted, scaled or rolled through the API, under a deployer's name.

    Symptoms: what the controllers and the kubelets make of it, each in its time.
    Shows in: the object itself, its managed fields, rollout history, and what its fault says.
    Undone by: giving it back what it had, taking away what is new, or making again what is gone.
    """

    sheet = DataSheet(
        layer="configuration",
        family="",
        changes=("*",),
        follows="Controllers, kubelets, proxies and admission act on what stands there now.",
        undone_by=("what was there before", "rolling back", "whatever makes the new value fit"),
        source="Kubernetes API concepts: verbs, patches, scale subresource",
    )
    Params = ChangeParams
    params: ChangeParams

    def __init__(self, ref: ObjectRef, namespace: str, params: ChangeParams, deployer: Deployer) -> None:
        super().__init__(ref, namespace, params, deployer)
        self.lasting = not params.roll

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return "itself" if self.moves_target else ", ".join(sorted(self._paths)) or "pods"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it: the values that were given, if they are few."""
        if self.params.scale is not None:
            return {"replicas": str(self.params.scale)}
        said = {segments(path)[-1]: str(value) for path, value in self._values if isinstance(value, (str, int, float))}
        plain = {key: value for key, value in said.items() if not key.startswith("$")}  # a directive is no value
        return plain if len(plain) <= _DETAILS_MAX else {}

    @property
    def makes_target(self) -> bool:
        """Whether it creates the object."""
        return self.params.create is not None

    @property
    def moves_target(self) -> bool:
        """Whether it creates or deletes the object."""
        return self.params.create is not None or self.params.delete or self.params.renew is not None

    @property
    def settles_ns(self) -> int:
        """When what it does is done: what is deleted may have finalizers."""
        return _GONE_EVERY_NS * (_GONE_TRIES + 1) if self.params.renew is not None else 0

    @property
    def _values(self) -> Iterator[tuple[str, Any]]:
        """What is given, by path."""
        if self.params.set or self.params.renew:
            for path, value in (self.params.set or self.params.renew or {}).items():
                yield from leaves(value, path) if isinstance(value, dict) else ((path, value),)
        elif self.params.create is not None or isinstance(self.params.patch, dict):
            body = self.params.create if self.params.create is not None else self.params.patch
            yield from ((path, value) for path, value in leaves(body) if not path.endswith(".name"))
        elif isinstance(self.params.patch, list):
            yield from ((str(one.get("path", "")).strip("/").replace("/", "."), one.get("value"))
                        for one in self.params.patch if isinstance(one, dict))  # fmt: skip

    @property
    def _paths(self) -> set[str]:
        return {"spec.replicas"} if self.params.scale is not None else {path for path, _ in self._values}

    def contradiction(self, other: Mechanism) -> str:
        """Who makes or deletes an object cannot also change it, and one value is changed once."""
        if not isinstance(other, ObjectChange) or self.ref != other.ref:
            return super().contradiction(other)
        if self.moves_target or other.moves_target:
            return f"{self.ref} is made or deleted: nothing else of it can be changed"
        twice = sorted(self._paths & other._paths)
        return f"{twice[0]} of {self.ref} can be wrong in one way only" if twice else ""

    def check(self, target: FaultTarget) -> None:
        """The object must be there, or not yet, must be changed by it, and the API server must take it."""
        if not self.takes(self.ref.kind):
            raise ImpossibleTarget(f"this change is meant for {' or '.join(self.meant_for)}, not {self.ref}")
        found = self.ref.find(target.api, self.namespace)
        if self.params.create is not None:
            if found is not None:
                raise ImpossibleTarget(f"there is {self.ref} already")
            self._tried(target, None)
            return
        if found is None:
            raise missing(self.ref, target.api, self.namespace)
        if self.params.renew is not None:
            self._tried(target, None)
            return
        if self.params.scale is not None and found["spec"].get("replicas", 1) == int(self.params.scale):
            raise ImpossibleTarget(f"{self.ref} has {self.params.scale} replicas already")
        if self.params.set or self.params.patch is not None:
            wanted = thaw(found)
            try:
                self._edit_of(target)(wanted)
            except ApiError as error:
                raise ImpossibleTarget(f"{self.ref}: {error.message}") from None
            if essence(self._tried(target, wanted)) == essence(found):
                raise ImpossibleTarget(f"{self.ref} is so already")

    def inject(self, target: FaultTarget) -> None:
        """Do it now."""
        client = target.client(self.deployer.user, self.deployer.manager)
        resource, namespace, name = self.ref.key_in(target.api, self.namespace)
        try:
            if self.params.create is not None:
                client.create(resource, namespace, self._manifest(target))
            elif self.params.delete:
                client.delete(resource, namespace, name)
            elif self.params.renew is not None:
                made = self._manifest(target)
                client.delete(resource, namespace, name)
                self._anew(target, made, _GONE_TRIES)
            elif self.params.scale is not None:
                client.patch(resource, namespace, name, {"spec": {"replicas": int(self.params.scale)}}, kind="merge")
            elif self.params.roll:
                note = {"annotations": {_RESTARTED: format_rfc3339(target.sim.now)}}
                client.patch(resource, namespace, name, {"spec": {"template": {"metadata": note}}}, kind="merge")
            else:
                redeploy(target, self.deployer, self.namespace, self.ref, self._edit_of(target))
        except ApiError as error:
            raise ImpossibleTarget(error.message) from None

    def _anew(self, target: FaultTarget, manifest: Json, tries: int) -> None:
        """Create it as soon as the old one is gone; what the API server refuses then stays away."""
        resource, namespace, _ = self.ref.key_in(target.api, self.namespace)
        if self.ref.find(target.api, self.namespace) is not None:
            if tries:
                target.sim.after(_GONE_EVERY_NS, self._anew, target, manifest, tries - 1)
            return
        try:
            target.client(self.deployer.user, self.deployer.manager).create(resource, namespace, manifest)
        except ApiError as error:
            target.sim.record("incident", f"{self.ref} is not made anew: {error.code}")

    def still_present(self, target: FaultTarget) -> str:
        """What it changed stands as it left it: one of the decisive values, or all if none is decisive.

        Of what it made all counts but the labels and notes.
        """
        if not self.changed or not self.lasting:
            return ""
        decisive = [fact for fact in self.changed if fits(self.decisive, fact)]
        standing = [fact for fact in decisive or self.changed if _stands(target, fact)]
        if not standing or (not decisive and len(standing) < len(self.changed)):
            return ""
        fact = standing[0]
        if self.params.delete:
            return f"{fact.place} is still missing"
        what = f"{fact.path} of {fact.place}" if fact.path else f"{fact.place}"
        return f"{what} is still as it was {'made' if self.moves_target else 'changed'}"

    def knowing(self, facts: Any) -> ObjectChange:
        """It with what was changed of its own object."""
        made = super().knowing(facts)
        mine = [fact for fact in made.changed if self._own(fact.place)]
        made.changed = tuple(mine)
        return made

    def _own(self, place: Place) -> bool:
        return not place.part and (place.kind, place.name) == (self.ref.kind.partition(".")[0], self.ref.name)

    # --- the change -------------------------------------------------------------------------

    def _entry(self, target: FaultTarget) -> Resource:
        entry = resource_of(self.ref.kind, target.api.resources.all)
        assert entry is not None, self.ref
        return entry

    def _manifest(self, target: FaultTarget) -> Json:
        """The new object as its author writes it."""
        entry, given = self._entry(target), thaw(self.params.create or {})
        if self.params.renew is not None:
            given = thaw(essence(self.object(target)))
            given["metadata"].pop("finalizers", None)  # which others set
            for path, value in self.params.renew.items():
                put_at(given, path, value)
        meta = {**(given.pop("metadata", None) or {}), "name": self.ref.name}
        if entry.namespaced:
            meta["namespace"] = self.namespace
        made = {"apiVersion": entry.api_version, "kind": entry.kind, "metadata": meta, **given}
        if self.deployer.manager == _APPLIES:
            noted = {**made, "metadata": {**meta, "annotations": meta.get("annotations") or {}}}
            copy = json.dumps(noted, separators=(",", ":")) + "\n"
            meta["annotations"] = {**(meta.get("annotations") or {}), LAST_APPLIED: copy}
        return made

    def _edit_of(self, target: FaultTarget) -> _Edit:
        return _Edit(self.params, self._entry(target), self.object(target))

    def _tried(self, target: FaultTarget, wanted: Json | None) -> Json:
        """A new object, or a changed one, as the API server would take it. Raises ImpossibleTarget: it would not."""
        entry = self._entry(target)
        try:
            vetted = vet(entry, self._manifest(target) if wanted is None else wanted, "Strict").object
        except ApiError as error:
            hint = _AS_TEXT if _NUMBER in error.message else ""
            raise ImpossibleTarget(f"{self.ref}: {error.message}{hint}") from None
        default(entry, vetted)
        causes = refuse_create(entry, vetted) if wanted is None else refuse_update(entry, vetted, self.object(target))
        if causes:
            raise ImpossibleTarget(f"{self.ref}: {causes[0].field}: {causes[0].message}")
        return vetted


@dataclass(frozen=True)
class _Edit:
    """Changes a manifest as the parameters say: the live object and the copy that apply keeps alike."""

    params: ChangeParams
    entry: Resource
    live: ApiObject

    def __call__(self, manifest: Json) -> None:
        """In place. Raises ApiError: the patch fits no such object."""
        if self.params.set:
            for path, value in self.params.set.items():
                for one in concrete(self.live, path):
                    put_at(manifest, one, value)
            return
        try:
            result = thaw(patched(self.entry, manifest, self.params.patch, _TYPES[self.params.type]))
        except ApiError:
            if "uid" in manifest["metadata"]:
                raise
            return  # it fits the object and not the sparser copy that apply keeps
        manifest.clear()
        manifest.update(result)


def _stands(target: FaultTarget, fact: ChangedFact) -> bool:
    return bool(_decided(fact, value_of(target, fact.place, fact.path)) == _decided(fact, fact.after))


def _decided(fact: ChangedFact, value: Any) -> Any:
    """What of a value counts: of a whole object not its labels and notes."""
    if fact.path or not isinstance(value, dict):
        return value
    return {key: one for key, one in value.items() if key != "metadata"}
