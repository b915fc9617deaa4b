"""A claim: what a diagnosis says is wrong, in a form that can be checked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """One cause, as somebody names it.

    Attributes:
        component: what is wrong: `service/frontend`, `node/worker-1`, `deployment/geo`.
        family: kind of cause, of `simcluster list families`.
        where: path of a field (`spec.selector.version`), device (`disk/sda`), unit or file; empty if none is named.
        values: what stands there, as text.
        scope: names of the components that are wrong themselves.
    """

    component: str
    family: str
    where: str = ""
    values: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
