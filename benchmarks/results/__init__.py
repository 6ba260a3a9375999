"""Pages of what was measured, docs/results: written from the data that they keep, never by hand."""
