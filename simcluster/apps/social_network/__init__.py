"""Social Network of DeathStarBench: posts and timelines over eleven Thrift services, MongoDB, Redis and memcached."""
