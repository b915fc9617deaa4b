"""The optional accelerator: loops over pods and edges compiled by numba, to the same bits as the NumPy code.

It is used when numba is installed (`pip install simcluster[fast]`). `SIMCLUSTER_ACCELERATOR=off` leaves it out,
`on` complains when it cannot be used. Compiled code is kept in `NUMBA_CACHE_DIR`, or else in the user's cache
folder under a name of these sources, so that only the first run of a version waits for the compiler.

The state of a run knows nothing of it: any tick may be made with or without.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
import warnings
from types import ModuleType

#: What the environment may say.
SWITCH = "SIMCLUSTER_ACCELERATOR"
#: With fewer lanes compiled loops gain less than it costs to load them, unless they are asked for so often.
FEW_LANES, OFTEN = 48, 3000
_OFF, _ON = ("off", "0", "no", "false"), ("on", "1", "yes", "true")


def kernels() -> ModuleType | None:
    """The compiled functions, or None: not installed, not wanted, or not usable (of which a warning tells, once)."""
    wanted = os.environ.get(SWITCH, "auto").lower()
    return None if wanted in _OFF else _loaded(wanted in _ON)


class _Asked:
    """How often this process has done without, for want of lanes."""

    times = 0


def kernels_for(lanes: int) -> ModuleType | None:
    """The compiled functions where they are worth their loading: for many lanes, for few after a while or when they are
    loaded already. They give the same bits, so nothing depends on which it is.
    """
    if lanes < FEW_LANES and _Asked.times < OFTEN and f"{__name__}.ticks" not in sys.modules:
        _Asked.times += 1
        return None
    return kernels()


@functools.cache
def is_installed() -> bool:
    """Whether numba could be imported."""
    return importlib.util.find_spec("numba") is not None


@functools.cache
def _loaded(insist: bool) -> ModuleType | None:
    if not (insist or is_installed()):
        return None
    try:
        return importlib.import_module("simcluster.models.traffic.aggregate.fast.ticks")
    except Exception as problem:  # whatever a compiler may not like: everything works without it
        warnings.warn(
            f"the accelerator cannot be used ({type(problem).__name__}: {problem}); "
            f"going on with NumPy alone, to the same results ({SWITCH}=off says that this is meant)",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
