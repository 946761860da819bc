"""Settings with which a replication of the published Monte Carlo study takes little time."""

from fairfrontier.replication.table1 import settings

SMALL = settings(n_boot=99, directions=60) | {"candidates (R, B)": 50}
