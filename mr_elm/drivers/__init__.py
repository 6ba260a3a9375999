"""Chain jobs and a finisher to a method, one file a method."""
