"""Judge predictions, and choose by folds; they take arrays."""
