"""The distance to the fairest point."""
