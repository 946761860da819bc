"""Recompute Table I of the paper; `make table1` and `fairfrontier simulate` do the same.

Options are those of `fairfrontier simulate --help`. A run may be stopped at any time; the next one goes on.
"""

import sys

from fairfrontier.cli import app

if __name__ == "__main__":
    app(["simulate", *sys.argv[1:]])
