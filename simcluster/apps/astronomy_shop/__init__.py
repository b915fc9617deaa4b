"""Astronomy Shop, the OpenTelemetry demo: sixteen services, feature flags in flagd, orders through Kafka."""
