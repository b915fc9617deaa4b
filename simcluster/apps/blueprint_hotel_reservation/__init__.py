"""The hotel site of DeathStarBench as Blueprint generates it: time-outs and retries in one ConfigMap."""
