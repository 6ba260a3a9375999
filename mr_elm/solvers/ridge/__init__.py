"""Solve (I/nu + E'E) B = E'T, where sums over all rows are all that is left of them: ESVM, PESVM, unified ELM."""
