"""Run stages on a Hadoop cluster."""
