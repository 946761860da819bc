"""The hospital study of Liu and Molinari (2025): Tables II, III, C.I to C.IV, Figures 6 to 8 and C.1 to C.3."""
