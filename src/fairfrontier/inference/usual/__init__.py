"""The figures that are usual in disputes about selection."""
