"""Measure what is claimed of speed and accuracy, beside the package, and what the papers measured."""
