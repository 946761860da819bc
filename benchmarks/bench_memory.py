"""Peak memory of the two analyses of `bench_load`, with as many rows but few trees and few draws.

Neither changes the peak by much: trees are small, and draws are made one after the other.
"""

from . import bench_load


def run() -> dict:
    """Return the peaks alone: with few trees and draws the times say little."""
    figures = bench_load.run(n_boot=99, max_iter=10)
    return {name: value for name, value in figures.items() if name.endswith("peak_gigabytes")}
