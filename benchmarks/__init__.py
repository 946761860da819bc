"""Benchmarks with targets; run all with ``python -m benchmarks``."""
