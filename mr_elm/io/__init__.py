"""Read rows, write models, and carry arrays between tasks."""
