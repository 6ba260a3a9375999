"""Does it scale? Speedup, sizeup and scaleup measured, and a model of clusters that are not here."""
