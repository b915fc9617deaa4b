"""Recordings of a real Kubernetes 1.32 cluster, by which the suite judges: `tests/recordings/README.md`."""

from __future__ import annotations

import tarfile
import tempfile
from functools import cache
from pathlib import Path

_TOP = Path(__file__).resolve().parents[2]
_ARCHIVE = _TOP / "tests" / "recordings" / "golden-1.32.tar.xz"


@cache
def _unpacked() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="simcluster-recordings-")
    with tarfile.open(_ARCHIVE) as archive:
        archive.extractall(folder.name, filter="data")
    return folder


def recordings() -> Path:
    """A folder with `kubectl`, `kubernetes-http/raw-1.32` and `timeline`, unpacked until the process ends.

    Raises:
        FileNotFoundError: this is no checkout; the recordings are not installed with the package.
    """
    return Path(_unpacked().name) / "golden"


def beside_checkout() -> Path | None:
    """A folder of further recordings beside the checkout (others' manifests and documentation), or None."""
    folder = _TOP.parent / "shared"
    return folder if (folder / "golden").is_dir() else None
