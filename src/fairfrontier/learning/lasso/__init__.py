"""The (adaptive) lasso for class probabilities."""
