"""Find files wherever they are, read them as blocks of rows, and account for each line."""
