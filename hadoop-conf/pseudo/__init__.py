"""A real Hadoop on one machine: HDFS, YARN and the job history, each daemon a process of its own."""
