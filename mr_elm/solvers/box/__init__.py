"""Solve min 1/2 a'Qa - e'a subject to 0 <= a_i <= C_i, Q_ij = t_i t_j K(x_i, x_j): sparse ELM, optimisation ELM."""
