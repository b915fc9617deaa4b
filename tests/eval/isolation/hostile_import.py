"""An agent whose module does everything when it is imported."""

import os
import sys

os.chdir("/")
os.environ.clear()
print("imported")
sys.stdout.flush()


class Quiet:
    name = "quiet"

    def run(self, session):
        session.kubectl("version")


def __getattr__(name):
    raise AttributeError(name)
