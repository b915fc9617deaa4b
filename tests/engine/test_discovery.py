"""Plug-ins: found by listing, named when they are broken."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from pathlib import Path
from types import ModuleType

import pytest

from simcluster.engine import discovery
from simcluster.engine.discovery import Plugin, PluginError


class Base(ABC):
    @abstractmethod
    def act(self) -> None: ...


class _Hidden(Base):
    def act(self) -> None: ...


class QuickAct(Base):
    def act(self) -> None: ...


def module(name: str, *kinds: type, **named: type) -> ModuleType:
    made = ModuleType(name)
    for kind in kinds:
        setattr(made, kind.__name__, kind)
    for name, kind in named.items():
        setattr(made, name, kind)
    return made


def test_concrete_public_classes_of_a_module_are_known_by_their_names() -> None:
    here = sys.modules[__name__]
    assert discovery.named_classes([here], Base) == {"quick_act": QuickAct}
    assert discovery.named_classes([module("elsewhere", QuickAct)], Base) == {}, "imported, not defined there"
    assert discovery.named_classes([module(__name__, Alias=QuickAct)], Base) == {"quick_act": QuickAct}


def test_two_classes_of_one_name_are_refused() -> None:
    twin = type("QuickAct", (QuickAct,), {"__module__": "twin"})
    with pytest.raises(PluginError, match=r"quick_act: both .*test_discovery and twin define it"):
        discovery.named_classes([sys.modules[__name__], module("twin", twin)], Base)


def test_what_cannot_be_loaded_is_named_with_its_source() -> None:
    for value in ("no_such_module_here", "json:nothing", "json:loads.nothing"):
        with pytest.raises(PluginError, match=r"mine \(.*\) of somebody 1\.0: (ModuleNotFound|Attribute)Error"):
            Plugin("mine", value, "somebody 1.0").load()
    assert Plugin("mine", "json:decoder.JSONDecoder", "somebody").load().__name__ == "JSONDecoder"


def test_packages_are_listed_in_order_and_modules_apart() -> None:
    packages = [one.__name__ for one in discovery.packages_in("simcluster.noise")]
    assert packages == ["simcluster.noise.mechanisms"]
    modules = [one.__name__ for one in discovery.modules_of(discovery.packages_in("simcluster.noise")[0])]
    assert modules == sorted(modules)
    assert {"simcluster.noise.mechanisms", "simcluster.noise.mechanisms.pod_kill"} <= set(modules)


def test_a_folder_is_a_package_with_and_without_an_init(tmp_path: Path) -> None:
    (tmp_path / "plain.d").mkdir()
    (tmp_path / "plain.d" / "part.py").write_text("VALUE = 7\n")
    package = discovery.package_at(tmp_path / "plain.d")
    assert discovery.modules_of(package)[1].VALUE == 7
    assert discovery.package_at(tmp_path / "plain.d") is package
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "__init__.py").write_text("1 / 0\n")
    for _ in range(2):
        with pytest.raises(PluginError, match="broken: ZeroDivisionError"):
            discovery.package_at(tmp_path / "broken")
