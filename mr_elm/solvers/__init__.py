"""Solve the small problems that the sums leave, one method a file."""
