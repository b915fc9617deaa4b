"""The CronJob controller: Jobs at times given in cron's syntax."""

from simcluster.control.cronjob.controller import CronJobController

__all__ = ["CronJobController"]
