"""Run several jobs over the same rows, each reconciled with the first, and keep what has finished."""
