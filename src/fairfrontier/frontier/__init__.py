"""The plane of risk pairs: support function, sets, frontiers."""
