"""Measure and compare, beside the package: bench, tables, results, demonstration, boundaries, landmarks."""
