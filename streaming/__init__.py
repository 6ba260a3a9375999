"""Run the stages as Hadoop Streaming jobs: mr_<noun>.py holds the job MR<Noun>, drivers/ chains jobs to methods."""
import mr_elm.engines.mrjob_private  # noqa: F401 - before any other module imports mrjob
