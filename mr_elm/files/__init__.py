"""Know where bytes are: on this machine, on HDFS, on S3; list, copy, and write whole or not at all."""
