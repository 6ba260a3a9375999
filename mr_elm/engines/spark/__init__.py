"""Run stages on Spark."""
