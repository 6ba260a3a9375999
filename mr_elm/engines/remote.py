"""Keep what jobs write on a cluster: inputs are copied to it once, and what has finished outlives the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property

from mr_elm.engines.base import Engine
from mr_elm.engines.shipping import source_digest
from mr_elm.passes.data_set import JobOutput
from mr_elm.passes.work import Work, key_of
from mr_elm.rows.inputs import InputFile, InputPlan, demand_unchanged
from mr_elm.rows.storage import is_local


class Remote(Engine):
    """Run jobs on a cluster that may lose nodes, tasks, or this driver.

    A subclass defines `work` and `write_output`.
    """

    is_cluster = True

    @cached_property
    def work(self) -> Work:
        """Return what the run keeps on the cluster."""
        raise NotImplementedError

    def write_output(
        self, job_class: type, plan: InputPlan, arguments: list[str], folder: str, stage: str
    ) -> int | None:
        """Run a job that writes to a folder of the cluster; see `run_job`.

        Returns how many lines its map tasks were given, None where nobody counts.
        """
        raise NotImplementedError

    def __enter__(self) -> Remote:
        self.work.open()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Remove what was put on the cluster, unless another try could go on with it."""
        self.work.close(error)

    @contextmanager
    def run_job(self, job_class: type, plan: InputPlan, arguments: list[str], stage: str) -> Iterator[JobOutput]:
        """Run a job, or take what it wrote before; the context's value is its `JobOutput`."""
        key = key_of(job_class, plan, arguments, source_digest())
        folder = self.stage_output(job_class) or self.work.folder(key)
        done = self.work.finished(key, folder)
        if done:
            self.reporter.say(f'{stage}: finished in the earlier run')
        else:
            self.work.begin()
            done = self.work.finish(key, folder, self.write_output(job_class, plan, arguments, folder, stage))
        demand_unchanged(plan)
        yield JobOutput(job_class, done['folder'], None if plan.in_parts else done['map_input_records'])

    def prepare(self, inputs: Iterable[str]) -> None:
        """Raise ValueError when an input is on another cluster."""
        for path in inputs:
            if not is_local(path):
                self.demand_reach(path)

    def bring(self, file: InputFile) -> str:
        """Copy a file of this machine to the cluster, once; returns where it is."""
        return self.work.place(file)

    @contextmanager
    def attempts_folder(self, folder: str) -> Iterator[str]:
        """Give a folder among what the run keeps, for files of attempts of tasks."""
        yield f'{self.work.staging}/attempts'
