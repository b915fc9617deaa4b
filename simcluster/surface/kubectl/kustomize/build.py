"""From a folder with a kustomization file to finished objects.

Source of the order of steps: kustomize api/internal/target (AccumulateTarget,
configureBuiltinTransformers) and api/krusty.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import Json
from simcluster.api.schema import YamlSyntaxError, decode_yaml
from simcluster.surface.kubectl.errors import KubectlError, plain
from simcluster.surface.kubectl.kustomize import fields, generators
from simcluster.surface.kubectl.kustomize.item import Item
from simcluster.surface.kubectl.kustomize.ordering import FIRST, LAST, legacy_order
from simcluster.surface.kubectl.kustomize.patching import apply_patch
from simcluster.surface.kubectl.kustomize.references import fix_references

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_KNOWN = frozenset(
    {
        *("apiVersion", "kind", "metadata", "resources", "bases", "components", "namespace", "namePrefix"),
        *("nameSuffix", "labels", "commonLabels", "commonAnnotations", "images", "replicas", "patches"),
        *("patchesStrategicMerge", "patchesJson6902", "configMapGenerator", "secretGenerator"),
        *("generatorOptions", "sortOptions", "buildMetadata", "openapi", "crds"),
    }
)
_NOT_BUILT = frozenset(
    {
        *("configurations", "generators", "transformers", "validators", "helmCharts", "helmGlobals"),
        *("helmChartInflationGenerator", "vars", "replacements"),
    }
)
#: Kinds that name prefixes leave alone.
_FIXED_NAMES = ("APIService", "CustomResourceDefinition", "Namespace")
_COUNTED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")


def build(files: Mapping[str, str], folder: str, *, legacy: bool) -> list[Json]:
    """The objects of a kustomization.

    Args:
        files: what there is, by path.
        folder: where the kustomization file lies.
        legacy: sort as `kubectl kustomize` does, unless `sortOptions` says how.

    Raises:
        KubectlError: no kustomization there, or one that cannot be built.
    """
    target = _Target(_Tree(files), folder, ())
    items = target.accumulate()
    for item in items:
        if item.hashed:
            item.rename(f"{item.name}-{generators.content_hash(item.obj)}")
    fix_references(items)
    objects = [item.obj for item in items]
    options = target.content.get("sortOptions")
    if options:
        if options.get("order") != "legacy":
            return objects
        orders = options.get("legacySortOptions") or {}
        return legacy_order(objects, orders.get("orderFirst") or FIRST, orders.get("orderLast") or LAST)
    return legacy_order(objects) if legacy else objects


class _Tree:
    """Files by path; folders are what paths begin with."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files

    def text(self, path: str) -> str | None:
        """A file's text; None if there is none."""
        for name in (path, posixpath.normpath(path), f"./{posixpath.normpath(path)}"):
            try:
                return self.files[name]
            except KeyError:
                continue
        return None

    def has_folder(self, path: str) -> bool:
        """Whether files lie below a path."""
        prefix = posixpath.normpath(path)
        return any(posixpath.normpath(name).startswith(f"{prefix}/" if prefix != "." else "") for name in self.files)


class _Target:
    """One kustomization file and what it makes of its resources."""

    def __init__(self, tree: _Tree, folder: str, above: tuple[str, ...]) -> None:
        self.tree = tree
        self.folder = posixpath.normpath(folder)
        if self.folder in above:
            raise plain(f"cycle detected: candidate root '{_absolute(self.folder)}' contains visited root")
        self.above = (*above, self.folder)
        self.content = self._load()

    # Reading.

    def _load(self) -> Json:
        found = {name: text for name in NAMES if (text := self.tree.text(f"{self.folder}/{name}")) is not None}
        if not found:
            if not self.tree.has_folder(self.folder):
                where = _absolute(self.folder)
                raise plain(
                    f"must build at directory: not a valid directory: evalsymlink failure on '{self.folder}' : "
                    f"lstat {where}: no such file or directory"
                )
            raise plain(f"unable to find one of {_listed(NAMES)} in directory '{_absolute(self.folder)}'")
        if len(found) > 1:
            raise plain(f"Found multiple kustomization files under: {_absolute(self.folder)}")
        content = self._decode(next(iter(found)), next(iter(found.values())))[0]
        if not isinstance(content, dict):
            raise plain(f"invalid Kustomization: json: cannot unmarshal {_go_type(content)} into Go value")
        for field in content:
            if field in _NOT_BUILT:
                raise plain(f"the field {field} of kustomizations is not built in this kubectl")
            if field not in _KNOWN:
                raise plain(f'invalid Kustomization: json: unknown field "{field}"')
        return content

    def _decode(self, path: str, text: str) -> list[Any]:
        try:
            documents, _ = decode_yaml(text)
        except YamlSyntaxError as error:
            shown = _absolute(posixpath.join(self.folder, path))
            raise plain(f"MalformedYAMLError: {error} in File: {shown}") from None
        found = [document for document in documents if document]
        if not found and path in NAMES:
            raise plain("kustomization.yaml is empty")
        return found

    def read(self, path: str) -> str:
        """A file that the kustomization names. Raises KubectlError."""
        text = self.tree.text(posixpath.join(self.folder, path))
        if text is None:
            shown = _absolute(posixpath.normpath(posixpath.join(self.folder, path)))
            raise plain(f"evalsymlink failure on '{shown}' : lstat {shown}: no such file or directory")
        return text

    # Building.

    def accumulate(self) -> list[Item]:
        """Resources, generated objects, and all transformations of this level."""
        items: list[Item] = []
        for path in [*(self.content.get("resources") or ()), *(self.content.get("bases") or ())]:
            for item in self._resource(str(path)):
                _append(items, item)
        self._generate(items)
        for path in self.content.get("components") or ():
            items = _Target(self.tree, posixpath.join(self.folder, str(path)), self.above).transform(items)
        return self._transformed(items)

    def transform(self, items: list[Item]) -> list[Item]:
        """Of a component: add to and change what its user has."""
        for path in self.content.get("resources") or ():
            for item in self._resource(str(path)):
                _append(items, item)
        self._generate(items)
        return self._transformed(items)

    def _resource(self, path: str) -> list[Item]:
        text = self.tree.text(posixpath.join(self.folder, path))
        if text is None:
            try:
                return _Target(self.tree, posixpath.join(self.folder, path), self.above).accumulate()
            except KubectlError as error:
                if not self.tree.has_folder(posixpath.join(self.folder, path)):
                    shown = _absolute(posixpath.normpath(posixpath.join(self.folder, path)))
                    missing = f"evalsymlink failure on '{shown}' : lstat {shown}: no such file or directory"
                    raise plain(
                        f"accumulating resources: accumulation err='accumulating resources from '{path}': "
                        f"{missing}': must build at directory: not a valid directory: {missing}"
                    ) from None
                inner = error.text.removeprefix("error: ")
                raise plain(
                    f"accumulating resources: accumulation err='accumulating resources from '{path}': "
                    f"read {_absolute(posixpath.join(self.folder, path))}: is a directory': {inner}"
                ) from None
        items: list[Item] = []
        for document in self._decode(path, text):
            entries = [document]
            if isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
                entries = document.get("items") or []
            items.extend(self._item(path, entry) for entry in entries)
        return items

    def _item(self, path: str, obj: Any) -> Item:
        where = f"accumulating resources: accumulation err='accumulating resources from '{path}': "
        if not isinstance(obj, dict) or not obj.get("kind") or not obj.get("apiVersion"):
            raise plain(f"{where}missing Resource metadata'")
        if not (obj.get("metadata") or {}).get("name") and not (obj.get("metadata") or {}).get("generateName"):
            what = f"{{{{{obj['apiVersion']} {obj['kind']}}} {{{{ }} map[] map[]}}}}"
            raise plain(f"{where}missing metadata.name in object {what}'")
        return Item(obj)

    def _generate(self, items: list[Item]) -> None:
        options = self.content.get("generatorOptions") or {}
        for field, kind in (("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")):
            for entry in self.content.get(field) or ():
                new = generators.generate(entry, kind, options, self.read)
                if new.behavior == "create":
                    _append(items, new)
                    continue
                before = [item for item in items if item.kind == kind and item.was_called(new.name)]
                if not before:
                    raise generators.unknown_target(new)
                generators.merged(before[0], new)

    def _transformed(self, items: list[Item]) -> list[Item]:
        content = self.content
        for entry in content.get("patchesStrategicMerge") or ():
            text = self.tree.text(posixpath.join(self.folder, str(entry)))
            items = apply_patch(items, str(entry) if text is None else text, None, {})
        for entry in content.get("patches") or ():
            items = apply_patch(items, self._patch_text(entry), entry.get("target"), entry.get("options") or {})
        self._set_namespace(items)
        for item in items:
            self._rename(item)
            self._mark(item)
        for entry in content.get("patchesJson6902") or ():
            items = apply_patch(items, self._patch_text(entry), entry.get("target"), {})
        for entry in content.get("replicas") or ():
            _set_replicas(items, entry)
        for entry in content.get("images") or ():
            for item in items:
                for container in fields.containers(item.obj):
                    _set_image(container, entry)
        return items

    def _patch_text(self, entry: Json) -> str:
        if entry.get("path") and entry.get("patch"):
            raise plain("patch and path can't be set at the same time\n" + str(entry))
        return self.read(str(entry["path"])) if entry.get("path") else str(entry.get("patch") or "")

    def _set_namespace(self, items: list[Item]) -> None:
        namespace = self.content.get("namespace")
        if not namespace:
            return
        for item in items:
            metadata = item.obj.setdefault("metadata", {})
            if item.kind == "Namespace":
                item.rename(namespace)
            elif item.namespaced and metadata.get("namespace") != namespace:
                item.names.append((item.name, item.namespace))
                metadata["namespace"] = namespace
            if item.kind in ("RoleBinding", "ClusterRoleBinding"):
                for subject in item.obj.get("subjects") or ():
                    if subject.get("kind") == "ServiceAccount" and subject.get("name") == "default":
                        subject["namespace"] = namespace

    def _rename(self, item: Item) -> None:
        prefix, suffix = self.content.get("namePrefix") or "", self.content.get("nameSuffix") or ""
        if (prefix or suffix) and item.kind not in _FIXED_NAMES:
            item.rename(f"{prefix}{item.name}{suffix}")

    def _mark(self, item: Item) -> None:
        for entry in self.content.get("labels") or ():
            selectors = bool(entry.get("includeSelectors"))
            templates = bool(entry.get("includeTemplates"))
            fields.add_labels(item.obj, entry.get("pairs") or {}, selectors=selectors, templates=templates)
        if self.content.get("commonLabels"):
            fields.add_labels(item.obj, self.content["commonLabels"], selectors=True, templates=True)
        if self.content.get("commonAnnotations"):
            fields.add_annotations(item.obj, self.content["commonAnnotations"])


def _append(items: list[Item], new: Item) -> None:
    for item in items:
        same = (item.obj["apiVersion"], item.kind, item.name) == (new.obj["apiVersion"], new.kind, new.name)
        if same and item.namespace == new.namespace:
            group, _, version = str(new.obj["apiVersion"]).rpartition("/")
            gvk = f"{new.kind}.{version or '[noVer]'}.{group or '[noGrp]'}"
            text = f"may not add resource with an already registered id: {gvk}/{new.name}.{new.namespace or '[noNs]'}"
            raise plain(f"accumulating resources: {text}")
    items.append(new)


def _set_replicas(items: list[Item], entry: Json) -> None:
    found = [item for item in items if item.kind in _COUNTED and item.was_called(str(entry.get("name", "")))]
    if not found:
        kinds = ", ".join(
            f"{kind}.[noVer].[noGrp]" for kind in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
        )
        raise plain(
            f"resource with name {entry.get('name', '')} does not match a config with the following GVK [{kinds}]"
        )
    for item in found:
        item.obj.setdefault("spec", {})["replicas"] = entry.get("count", 0)


def _set_image(container: Json, entry: Json) -> None:
    image = str(container.get("image") or "")
    name = re.escape(str(entry.get("name", "")))
    if not re.fullmatch(rf"{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?", image):
        return
    rest = image[len(str(entry.get("name", ""))) :]
    tag, at_sign, digest = rest.partition("@")
    if entry.get("newTag"):
        tag, at_sign, digest = f":{entry['newTag']}", "", ""
    if entry.get("digest"):
        tag, at_sign, digest = ("" if not entry.get("newTag") else tag), "@", str(entry["digest"])
    if entry.get("tagSuffix"):
        tag = f"{tag}{entry['tagSuffix']}"
    container["image"] = f"{entry.get('newName') or entry['name']}{tag}{at_sign}{digest}"


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"


def _listed(names: tuple[str, ...]) -> str:
    quoted = [f"'{name}'" for name in names]
    return ", ".join(quoted[:-1]) + f" or {quoted[-1]}"


def _go_type(value: Any) -> str:
    return "array" if isinstance(value, list) else "string" if isinstance(value, str) else "number"
