"""What an image takes on a disk once its layers are unpacked."""

from __future__ import annotations

#: Unpacked layers take about 2.5 times their compressed size.
UNPACKED_PERCENT = 250


def image_bytes(size_bytes: int) -> int:
    """What an image of a compressed size takes on the disk."""
    return size_bytes * UNPACKED_PERCENT // 100
