"""Measure and show: the demonstration, the benchmarks, the figures."""
