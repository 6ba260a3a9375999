"""Run stages: in this process, on the cores of this machine, on Hadoop, on Amazon EMR."""
