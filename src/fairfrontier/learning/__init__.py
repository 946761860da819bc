"""Learning the nuisance functions out of fold."""
