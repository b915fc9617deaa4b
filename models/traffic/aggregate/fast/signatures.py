"""How the compiled functions are compiled: to the bits of NumPy, and kept for the next run; names of their types."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numba


def edition() -> str:
    """A name for the sources of all compiled functions: numba compiles one into another, and looks at one file only."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]


if not os.environ.get("NUMBA_CACHE_DIR"):
    _HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    vars(numba.config)["CACHE_DIR"] = str(_HOME / "simcluster" / "numba" / edition())

FLOATS, TABLE, RING = "float64[::1]", "float64[:, ::1]", "float64[:, :, ::1]"
INDEX, FLAGS, PLACES = "int64[::1]", "boolean[::1]", "int64[:, ::1]"
#: Not begun yet.
NEVER = 1e300


def compiled(signature: str) -> Any:
    """A decorator that compiles a function of this signature: no fast-math, no fused operations."""
    return numba.njit(signature, cache=True, fastmath=False, error_model="numpy", nogil=True)
