"""Tables that hold the machines against their peers on public data: one protocol a file, one harness for all."""
