"""The blackbox exporter: it tries to reach what Prometheus names, as a client would."""
