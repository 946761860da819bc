"""What users give, read and checked once: rows, groups, losses, algorithms; and what all results have in common."""
