"""The hash of labels by which `limit_ratio` picks series: XXH64 over names and values, as Prometheus' `Labels.Hash`."""

from __future__ import annotations

from simcluster.telemetry.promql.storage import Labels

_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MASK = (1 << 64) - 1


def _rotated(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & _MASK


def _round(acc: int, word: int) -> int:
    return _rotated((acc + word * _P2) & _MASK, 31) * _P1 & _MASK


def xxh64(data: bytes) -> int:
    """XXH64 with seed 0.

    >>> hex(xxh64(b"")), hex(xxh64(b"abc"))
    ('0xef46db3751d8e999', '0x44bc2cf5ad770999')
    """
    at = 0
    if len(data) >= 32:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        while at + 32 <= len(data):
            for lane in range(4):
                start = at + 8 * lane
                lanes[lane] = _round(lanes[lane], int.from_bytes(data[start : start + 8], "little"))
            at += 32
        a, b, c, d = lanes
        total = (_rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18)) & _MASK
        for lane in lanes:
            total = ((total ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        total = _P5
    total = (total + len(data)) & _MASK
    while at + 8 <= len(data):
        total ^= _round(0, int.from_bytes(data[at : at + 8], "little"))
        total = (_rotated(total, 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= len(data):
        total ^= int.from_bytes(data[at : at + 4], "little") * _P1 & _MASK
        total = (_rotated(total, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        total = _rotated(total ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    total = (total ^ (total >> 33)) * _P2 & _MASK
    total = (total ^ (total >> 29)) * _P3 & _MASK
    return total ^ (total >> 32)


def label_hash(labels: Labels) -> int:
    """The hash of a label set."""
    return xxh64(b"".join(part.encode() + b"\xff" for pair in labels for part in pair))
