"""Where recordings of real clusters lie, for tests that compare with them."""

from __future__ import annotations

from pathlib import Path


def shared_folder() -> Path | None:
    """The folder of recordings beside the checkout, or None in a checkout that has none."""
    folder = Path(__file__).resolve().parents[2].parent / "shared"
    return folder if (folder / "golden").is_dir() else None
