"""Measure speedup, sizeup and scaleup, and predict them and the cost of larger clusters."""

PROGRAM = 'python -m benchmarks.scaling'
