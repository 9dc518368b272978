"""Figures from the store's views: repeat rates, how concentrated they are, bounds from RTK's own rows."""
