"""Programs of the data stores, by the `data_store` of a behaviour."""

from __future__ import annotations

from simcluster.models.apps.stores.caches.memcached import MemcachedProgram
from simcluster.models.apps.stores.mongo.mongod import MongodProgram
from simcluster.models.apps.stores.mysql.mysqld import MysqldProgram
from simcluster.models.apps.stores.postgres.postgres import PostgresProgram
from simcluster.models.apps.stores.redis.redis import RedisProgram

PROGRAMS = {
    "mongod": MongodProgram,
    "postgres": PostgresProgram,
    "mysqld": MysqldProgram,
    "redis": RedisProgram,
    "memcached": MemcachedProgram,
}
