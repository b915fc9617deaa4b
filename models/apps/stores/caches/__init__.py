"""What caches keep in memory: keys by how often they are asked for, and memcached."""
