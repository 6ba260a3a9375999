"""Keep what solvers of several methods need: compiled loops, caches of kernel rows, workspace, codes of classes."""
