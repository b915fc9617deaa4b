"""simcluster: a Kubernetes production cluster that fails on purpose, inside one Python process.

    import simcluster

    ep = simcluster.start("wrong_service_selector_online_boutique", seed=7)
    print(ep.alert)
    print(ep.kubectl("get pods -n boutique"))

Importing the package imports nothing else; what you touch is loaded then.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simcluster.eval.episode import start
    from simcluster.session import sandbox

__version__ = "0.1.0"
__all__ = ["__version__", "sandbox", "start"]

#: Public names and where they are made.
_HOMES = {
    "start": "simcluster.eval.episode",
    "sandbox": "simcluster.session",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'simcluster' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
