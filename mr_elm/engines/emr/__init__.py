"""Run stages on Amazon EMR."""
