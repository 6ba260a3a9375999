"""Give a stage what it needs of the job around it: planned splits, accounts of rows, reduce tasks of keys."""
