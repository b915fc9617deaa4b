"""Programs of brokers, by the `logic` of a behaviour."""

from __future__ import annotations

from simcluster.models.apps.brokers.kafka import KafkaProgram
from simcluster.models.apps.brokers.rabbitmq import RabbitProgram

PROGRAMS = {"kafka": KafkaProgram, "rabbitmq": RabbitProgram}
