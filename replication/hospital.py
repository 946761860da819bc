"""Recompute the hospital study of the paper; `fairfrontier replicate hospital` does the same.

Options are those of `fairfrontier replicate --help`. A run may be stopped at any time; the next one goes on.
"""

import sys

from fairfrontier.cli import app

if __name__ == "__main__":
    app(["replicate", "hospital", *sys.argv[1:]])
