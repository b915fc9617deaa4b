"""The applications there are: the folders beside this file, those of installed packages, and of folders given.

A package adds one under the entry-point group `simcluster.apps`: name = package. A folder given on the command line
holds them in `apps/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import ModuleType

import yaml

from simcluster.api.customresources.definitions import resources_of
from simcluster.api.objects import ApiObject
from simcluster.api.resources import Resource
from simcluster.control.operator import Operator
from simcluster.engine.content import Library, nearest
from simcluster.engine.discovery import PluginError, installed, package_at, packages_in
from simcluster.models.apps.folder import AppFolder

ENTRY_POINT_GROUP = "simcluster.apps"


@cache
def applications(library: Library | None = None) -> tuple[AppFolder, ...]:
    """All applications, each kind of place by name.

    Raises:
        PluginError: one cannot be imported, or two have one name.
    """
    packages = [*packages_in("simcluster.apps"), *(one.load() for one in installed(ENTRY_POINT_GROUP))]
    packages += [package_at(folder) for folder in (library or Library()).folders("apps")]
    return checked(packages)


def home_of(app: str, library: Library | None = None) -> str:
    """The namespace in which an application usually is; its own name if there is no such application."""
    homes = {folder.behaviour.application: folder.behaviour.namespace for folder in applications(library)}
    return homes.get(app, app)


@cache
def custom_resources(app: str, library: Library | None = None) -> tuple[Resource, ...]:
    """The custom resources that an application's manifests define; none if there is no such application."""
    found: list[Resource] = []
    for folder in applications(library):
        if folder.behaviour.application == app:
            text = "\n---\n".join(map(folder.text, ("prerequisites.yaml", "manifests.yaml")))
            for document in yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
                if document and document["kind"] == "CustomResourceDefinition":
                    names = document["spec"]["names"]
                    found.extend(resources_of(ApiObject({**document, "status": {"acceptedNames": names}})))
    return tuple(found)


def checked(packages: Sequence[ModuleType]) -> tuple[AppFolder, ...]:
    """The folders of packages, of which no two bring the same. Raises PluginError."""
    found: dict[str, AppFolder] = {}
    for package in packages:
        folder = AppFolder.of(package)
        name = folder.behaviour.application
        if name in found:
            raise PluginError(f"the application {name!r} of {folder.path} is already that of {found[name].path}")
        found[name] = folder
        for key, kind in folder.operators.items():
            if not (isinstance(kind, type) and issubclass(kind, Operator)):
                raise PluginError(f"{folder.path}: the operator {key!r} is no subclass of Operator")
        for image in folder.behaviour.images:
            if image.operator and image.operator not in folder.operators:
                close = nearest(image.operator, folder.operators) or sorted(folder.operators)
                offer = f"did you mean {', '.join(close)}?" if close else "its module app declares none"
                raise PluginError(f"{folder.path}: unknown operator {image.operator!r} of {image.name}; {offer}")
    return tuple(found.values())
