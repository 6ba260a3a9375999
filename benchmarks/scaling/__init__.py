"""Measure speedup, sizeup and scaleup, and estimate the cost of a rented cluster."""
