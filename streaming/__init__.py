"""Run the stages as Hadoop Streaming jobs: mr_<noun>.py holds the job MR<Noun>, drivers/ chains jobs to methods."""
