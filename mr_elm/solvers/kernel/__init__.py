"""Solve (I/C + Omega) A = T, where Omega = K(X, X) is the kernel matrix of all rows: kernel ELM, MR-KELM."""
