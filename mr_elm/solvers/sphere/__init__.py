"""Solve min |sum_i a_i x~_i|^2 over a on the simplex, the smallest ball about rows in feature space: SphereSVM."""
