"""The Kubernetes API machinery: schema, defaults, validation, store, watch, admission, printing."""
