"""Programs of brokers, by the `logic` of a behaviour."""

from __future__ import annotations

from simcluster.models.apps.brokers.kafka import KafkaProgram

PROGRAMS = {"kafka": KafkaProgram}
