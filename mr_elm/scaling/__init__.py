"""Measure speedup, sizeup and scaleup, and predict them for larger clusters."""
