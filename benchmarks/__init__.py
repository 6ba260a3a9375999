"""Measure and compare, beside the package: bench, tables, report, demonstration, boundaries."""
