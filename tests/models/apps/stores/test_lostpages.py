"""A cache holds what it has read, and never what cannot be read."""

from __future__ import annotations

import pytest

from simcluster.models.apps.stores.lostpages import LostPages
from simcluster.models.apps.stores.pagecache import PageCache
from simcluster.models.machine.storage.fileload import SpoiltBlock

PAGE, PAGES = 8192, 100


def _cache() -> PageCache:
    cache = PageCache(1 << 30, PAGE)
    cache.resize("d/hot", float(PAGE * PAGES))
    cache.resize("d/rest", float(PAGE * PAGES))
    return cache


def _spoilt(*pages: int, hot: bool = True) -> list[SpoiltBlock]:
    return [SpoiltBlock(2 * page, 1000 + page, True, hot) for page in pages]


def test_every_access_to_a_page_that_cannot_be_read_goes_to_the_drive_however_warm_the_cache() -> None:
    cache, lost = _cache(), LostPages(PAGE, 7)
    lost.follow(_spoilt(3, 8), cache, "d/hot", "d/rest")
    for _ in range(200):
        missed = cache.access("d/hot", 500.0, 1.0)
    assert cache.held == pytest.approx(PAGE * (PAGES - 2), rel=1e-6)
    assert missed == pytest.approx(500.0 * 2 / PAGES, rel=1e-6)
    lost.reads["d/hot"] = missed
    assert lost.asked() == ((6, pytest.approx(5.0)), (16, pytest.approx(5.0)))
    assert lost.asked() == ((6, 0.0), (16, 0.0))  # asked once


def test_a_page_that_was_held_when_its_block_went_bad_is_served_from_memory() -> None:
    cache, lost = _cache(), LostPages(PAGE, 7)
    for _ in range(200):
        cache.access("d/hot", 500.0, 1.0)
    lost.follow(_spoilt(*range(PAGES)), cache, "d/hot", "d/rest")
    assert not lost
    assert cache.access("d/hot", 500.0, 1.0) == pytest.approx(0.0, abs=1e-6)
    cache.forget()  # the process starts anew
    lost.follow(_spoilt(*range(PAGES)), cache, "d/hot", "d/rest")
    assert cache.access("d/hot", 500.0, 1.0) == pytest.approx(500.0)
    assert cache.held == 0.0


def test_a_part_of_the_pages_is_met_where_a_part_was_held_and_what_is_mended_is_held_again() -> None:
    cache, lost = _cache(), LostPages(PAGE, 7)
    cache.classes["d/hot"].held = PAGE * PAGES / 2.0
    lost.follow(_spoilt(*range(PAGES)), cache, "d/hot", "d/rest")
    assert 35 <= cache.classes["d/hot"].lost / PAGE <= 65
    before = dict(lost.asked())
    lost.follow(_spoilt(*range(PAGES)), cache, "d/hot", "d/rest")
    assert dict(lost.asked()).keys() >= before.keys()
    lost.follow([], cache, "d/hot", "d/rest")
    assert not lost
    assert cache.classes["d/hot"].lost == 0.0
    for _ in range(200):
        cache.access("d/hot", 500.0, 1.0)
    assert cache.held == pytest.approx(PAGE * PAGES, rel=1e-6)
