"""A file that was edited: of a node, or a key of a ConfigMap or Secret; and the restart that makes it bite."""

from __future__ import annotations

import base64
import json
from fnmatch import fnmatchcase
from typing import Any

import yaml
from pydantic import Field, model_validator

from simcluster.api.objects import ApiObject, Json, name_of
from simcluster.engine.content import Content, nearest
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.deployer import redeploy
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.survey import standing
from simcluster.faults.target import FaultTarget, ImpossibleTarget, pods_of
from simcluster.models.machine.machine import Machine

_NODE, _SECRET = "Node", "Secret"


class EditParams(Content):
    """What is done to which file.

    Attributes:
        file: path on the node, or key of the object.
        content: the whole new text.
        replace: text -> what takes its place, everywhere in the file.
        append: text that is put behind it.
        values: of a file of JSON or YAML: path (`flags.fast.state`) -> its new value.
        remove: whether it is deleted.
        restart: units of the node (`kubelet`), or names of Deployments in the namespace of the object, whose pods are
            made anew (`coredns`, or `Deployment/coredns`; `*` as in a target).
    """

    file: str
    content: str | None = None
    replace: dict[str, str] = Field(default_factory=dict)
    append: str = ""
    values: dict[str, Any] = Field(default_factory=dict)
    remove: bool = False
    restart: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_deed(self) -> EditParams:
        deeds = (self.content is not None, bool(self.replace), bool(self.append), bool(self.values), self.remove)
        if deeds.count(True) != 1:
            raise ValueError("give exactly one of content, replace, append, values and remove")
        return self

    def edited(self, text: str) -> str | None:
        """The new text; None of a file that is gone."""
        if self.remove:
            return None
        if self.content is not None:
            return self.content
        if self.values:
            return _with_values(text, self.values)
        for old, new in self.replace.items():
            text = text.replace(old, new)
        return text + self.append


def _with_values(text: str, values: dict[str, Any]) -> str:
    """A file of JSON or YAML with other values, written as people write it. Raises ValueError: it has no such place.

    >>> _with_values('{"flags": {"fast": {"state": "off"}}}', {"flags.fast.state": "on"}).split()
    ['{', '"flags":', '{', '"fast":', '{', '"state":', '"on"', '}', '}', '}']
    """
    is_json = text.lstrip().startswith("{")
    data = json.loads(text) if is_json else yaml.safe_load(text)
    for path, value in values.items():
        *way, last = path.split(".")
        holder = data
        for step in way:
            if not isinstance(holder, dict) or step not in holder:
                raise ValueError(f"there is no {path}")
            holder = holder[step]
        holder[last] = value
    if not is_json:
        return str(yaml.safe_dump(data, sort_keys=False))
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


class FileEdit(Mechanism):
    """Somebody edits a configuration file, and restarts what reads it.

    Symptoms: none until the program reads it again; then it does what the file says, or does not start.
    Shows in: the file, the ConfigMap or Secret, the journal and the logs since the restart.
    Undone by: the right text and another restart.
    """

    sheet = DataSheet(
        layer="configuration",
        family="",
        changes=("file *", "data*", "stringData*", "binaryData*"),
        at_once=("unit/*", "sysctl *", "clock *"),
        follows="What reads the file does otherwise from its restart on.",
        undone_by=("the right text and a restart",),
        source="Kubernetes, ConfigMap and Secret volumes; systemd",
    )
    Params = EditParams
    params: EditParams
    kinds = (_NODE, "ConfigMap", _SECRET)

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return f"file {self.params.file}"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it: what the changed value of a structured file belongs to, or the file."""
        if self.params.values:
            return {"setting": next(iter(self.params.values)).split(".")[-2:][0]}
        return {"file": self.params.file}

    def check(self, target: FaultTarget) -> None:
        """The file must be there, unless it is written whole, and other than it will be; so must what restarts."""
        super().check(target)
        text = self._text(target)
        if text is None and self.params.content is None:
            known = self._files(target)
            close = nearest(self.params.file, known) or sorted(known)[:5]
            raise ImpossibleTarget(f"{self.ref} has no file {self.params.file}; the nearest are {', '.join(close)}")
        self._check_values(text or "")
        lacking = [old for old in self.params.replace if old not in (text or "")]
        if lacking or self.params.edited(text or "") == text:
            what = f"{lacking[0]!r} does not stand in" if lacking else "nothing is changed in"
            raise ImpossibleTarget(f"{what} {self.params.file} of {self.ref}")
        new = [self.params.append] if self.params.append else [one for one in self.params.replace.values() if one]
        if new and all(one in (text or "") for one in new):
            raise ImpossibleTarget(f"{self.params.file} of {self.ref} says so already")
        for name in self.params.restart:
            if not self._restarts(target, name):
                close = nearest(name, self._restartable(target)) or self._restartable(target)[:5]
                offer = f"; the nearest are {', '.join(close)}"
                raise ImpossibleTarget(
                    f"there is no {name} to be restarted with {self.params.file} of {self.ref}{offer}"
                )

    def _check_values(self, text: str) -> None:
        try:
            self.params.edited(text)
        except ValueError as problem:
            raise ImpossibleTarget(f"{self.params.file} of {self.ref}: {problem}") from None

    def inject(self, target: FaultTarget) -> None:
        """Edit it, and restart."""
        machine = self._machine(target)
        if machine is None:
            redeploy(target, self.deployer, self.namespace, self.ref, self._edit)
        else:
            text = self.params.edited(self._text(target) or "")
            if text is None:
                machine.files.remove(self.params.file)
            else:
                machine.files.write(self.params.file, text)
        client = target.client(self.deployer.user, self.deployer.manager)
        for name in self.params.restart:
            for one in self._restarts(target, name):
                if isinstance(one, str):
                    target.machines[self.ref.name].control("restart", one)
                else:
                    for pod in pods_of(target.api.store, one):
                        client.delete("pods", self.namespace, name_of(pod))

    def still_present(self, target: FaultTarget) -> str:
        """The file is as it was left."""
        return standing(target, self.changed)

    def _machine(self, target: FaultTarget) -> Machine | None:
        found = target.machines.get(self.ref.name) if self.ref.kind == _NODE else None
        return found if isinstance(found, Machine) else None

    def _files(self, target: FaultTarget) -> dict[str, str]:
        machine = self._machine(target)
        if machine is not None:
            return {f"/{path}": text for path, text in machine.files.below("/")}
        found = self.object(target)
        data: dict[str, str] = dict(found.get("data") or {})
        return {key: base64.b64decode(text).decode() for key, text in data.items()} if self._secret else data

    def _text(self, target: FaultTarget) -> str | None:
        return self._files(target).get(self.params.file)

    @property
    def _secret(self) -> bool:
        return self.ref.kind == _SECRET

    def _edit(self, manifest: Json) -> None:
        data: dict[str, Any] = manifest.setdefault("data", {})
        text = data.get(self.params.file, "")
        text = self.params.edited(base64.b64decode(text).decode() if self._secret else text)
        if text is None:
            data.pop(self.params.file, None)
        else:
            data[self.params.file] = base64.b64encode(text.encode()).decode() if self._secret else text

    def _restarts(self, target: FaultTarget, name: str) -> list[str | ApiObject]:
        if self.ref.kind == _NODE:
            host = target.machines.get(self.ref.name)
            return [name] if host is not None and host.unit(name) is not None else []
        found = target.api.store.objects("deployments.apps", self.namespace)
        return [one for one in found if fnmatchcase(name_of(one), name.removeprefix("Deployment/"))]

    def _restartable(self, target: FaultTarget) -> list[str]:
        machine = self._machine(target)
        if machine is not None:
            return [unit.name.removesuffix(".service") for unit in machine.unit_list()]
        return [name_of(one) for one in target.api.store.objects("deployments.apps", self.namespace)]
