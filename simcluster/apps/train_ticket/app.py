"""What Train Ticket brings besides its files."""

from __future__ import annotations

from simcluster.apps.train_ticket.database import PerconaProgram, Xenon, XenonProgram
from simcluster.apps.train_ticket.gateway import DashboardProgram, GatewayProgram
from simcluster.apps.train_ticket.nacos import InitMysqlProgram, NacosProgram
from simcluster.apps.train_ticket.services import ContactsProgram, DeliveryProgram, NotificationProgram, VoucherProgram
from simcluster.apps.train_ticket.spring import SpringProgram

PROGRAMS = {
    "nacos": NacosProgram,
    "nacos-initmysql": InitMysqlProgram,
    "percona": PerconaProgram,
    "train-ticket": SpringProgram,
    "train-ticket-contacts": ContactsProgram,
    "train-ticket-dashboard": DashboardProgram,
    "train-ticket-delivery": DeliveryProgram,
    "train-ticket-gateway": GatewayProgram,
    "train-ticket-notification": NotificationProgram,
    "train-ticket-voucher": VoucherProgram,
    "xenon": XenonProgram,
}
OPERATORS = {"xenon": Xenon}
