"""Run stages on a cluster: inputs are copied to it once, and what has finished outlives the driver."""
from __future__ import annotations

import os

from mr_elm.engines.bundle import bundle_arguments
from mr_elm.engines.mrjob_engine import MRJobEngine, plan_tasks
from mr_elm.engines.remote import Remote
from mr_elm.engines.shipping import zip_code
from mr_elm.passes.finished import map_input_records
from mr_elm.rows.hdfs import escape_glob
from mr_elm.rows.inputs import InputPlan

WHOLE = 1 << 40  # bytes; Hadoop cuts no file into smaller splits


class Cluster(Remote, MRJobEngine):
    """Run jobs by mrjob on a cluster that may lose nodes, tasks, or this driver. A subclass defines `work`."""

    def write_output(self, job_class: type, plan: InputPlan, arguments: list[str], folder: str, key: str,
                     stage: str) -> int | None:
        """Run a job that writes to a folder of the cluster, marked by its key."""
        tags = ['-D', f'mapreduce.job.tags={self.tags(key)}']
        with self.start(job_class, plan, [*tags, *arguments], folder, stage) as running:
            return map_input_records(running)

    def tags(self, key: str) -> str:
        """Mark a job on the cluster as one of this run, beside what the user marks it with."""
        named = self.value_of('mapreduce.job.tags')
        return ','.join([*([named] if named else []), self.work.tag(), self.work.tag(key)])

    def reducers(self, n: int) -> list[str]:
        """Return the arguments that ask for n reduce tasks, none where one will do or the user has said how many."""
        if n == 1 or self.value_of('mapreduce.job.reduces') is not None:
            return []
        return ['-D', f'mapreduce.job.reduces={n}']

    def job_arguments(self, plan: InputPlan, folder: str) -> list[str]:
        """Keep mrjob from starting a JVM for what needs none, give tasks Python and the code, and name the inputs."""
        return ['--no-bootstrap-mrjob', '--no-check-input-paths', '--no-read-logs', *self.python_arguments(folder),
                *self.input_arguments(plan, folder)]

    def input_arguments(self, plan: InputPlan, folder: str) -> list[str]:
        """Name the files of lines; tasks open other files themselves, and read the splits that are planned here."""
        if not plan.in_parts:
            return [escape_glob(file.uri or file.path) for file in plan.files]
        n_maps = plan.n_tasks or self.wanted_maps or self.maps_over(plan.size)
        return ['-D', f'mapreduce.input.fileinputformat.split.minsize={WHOLE}', *plan_tasks(plan, n_maps, folder)]

    def python_arguments(self, folder: str) -> list[str]:
        """Choose the Python of the tasks and how the code gets there."""
        if self.bundle is not None:
            return bundle_arguments(self.bundle)
        python = [] if self.python is None or self.option('--task-python-bin') else ['--task-python-bin', self.python]
        return ['--py-files', zip_code(os.path.join(folder, 'mr_elm_code.zip')), *python]
