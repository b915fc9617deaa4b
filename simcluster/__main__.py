"""`python -m simcluster`: the command line of a checkout that is not installed."""

import sys

from simcluster.cli import main

if __name__ == "__main__":
    sys.exit(main())
