"""Say what an engine is: what runs the stages of a command, and keeps files for them while the command lasts."""

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar

from mr_elm.passes.data_set import JobOutput
from mr_elm.progress import Reporter
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.rows.storage import scheme_of, store_of

SPLIT_BYTES = 128 << 20  # of a map task, as Hadoop cuts large files
REDUCE_TASKS = 8  # share keys of about the same work, at most, unless the user says mapreduce.job.reduces


@dataclass(frozen=True)
class Engine:
    """Run the stages of a command. A context: what was put elsewhere for them vanishes at its end.

    A subclass defines `run_job`, and overrides what is different on it: which files tasks reach, how many tasks there
    are, where output stays.

    arguments : options of the engine, as on the command line.
    reporter : speaks to the user.
    python : the Python of the nodes, with numpy and scipy; None for `python3`, or for this one on the local cluster.
    bundle : archive with Python's environment and the code for the nodes, from `make_bundle`; or None.
    output : what the command makes, for the record of an unfinished run; resume : go on with that one.
    """

    name: ClassVar[str]  # as users know it
    schemes: ClassVar[tuple[str, ...]] = ('',)  # of the paths that tasks read and write; '' is this machine
    location: ClassVar[str] = 'on this machine'  # the same in words
    is_cluster: ClassVar[bool] = False  # whether tasks run, and sort, on other machines
    by_hand: ClassVar[bool] = False  # whether the user runs the stages, which then do all work on many rows

    arguments: tuple[str, ...] = ()
    reporter: Reporter = field(default_factory=lambda: Reporter(quiet=True))
    python: str | None = None
    bundle: str | None = None
    output: str | None = None
    resume: bool = False

    def __enter__(self) -> 'Engine':
        if self.resume:
            self.reporter.say('--resume: no unfinished run to continue on this machine')
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Remove what was put elsewhere."""

    def run_job(
        self, job_class: type, plan: InputPlan, arguments: list[str], stage: str
    ) -> AbstractContextManager[JobOutput]:
        """Run a job over a data set; the context's value is its `JobOutput`, to be read inside.

        job_class : a subclass of MRRows. plan : InputPlan. arguments : options of the job.
        stage : its name, for progress.
        Raises TaskError when a task fails.
        """
        raise NotImplementedError

    def stage_output(self, job_class: type) -> str | None:
        """Return a folder of its own for each stage below the --output-dir that the user named, else None."""
        folder = self.option('--output-dir')
        if folder is None:
            return None
        path = os.path.join(folder, job_class.__name__)
        if os.path.exists(path):
            raise FileExistsError(f'{path}: expected a new folder, it exists')
        return path

    def option(self, name: str) -> str | None:
        """Return the last value given for an option of the engine, or None."""
        return dict(pairs_of(self.arguments)).get(name)

    def value_of(self, key: str) -> str | None:
        """Return the last value given for a jobconf key, or None."""
        last = None
        for flag, setting in pairs_of(self.arguments):
            name, _, value = setting.partition('=')
            if flag in ('-D', '--jobconf') and name == key:
                last = value
        return last

    @property
    def wanted_maps(self) -> int | None:
        """Return the value of mapreduce.job.maps, or None where it is not set. Raises ValueError."""
        maps = self.value_of('mapreduce.job.maps')
        if maps is None:
            return None
        if not maps.isdecimal():
            raise ValueError(f'-D mapreduce.job.maps: expected a whole number, found {maps!r}')
        return int(maps)

    def prepare(self, inputs: Iterable[str]) -> None:
        """Raise ValueError when tasks cannot be given these inputs, or options of the engine contradict each other."""

    def reaches(self, path: str) -> bool:
        """Tell whether tasks can read and write at a path."""
        return scheme_of(path) in self.schemes

    def demand_reach(self, path: str) -> None:
        """Raise ValueError when tasks cannot read or write at a path."""
        if not self.reaches(path):
            hint = ''
            if path.startswith('s3:'):
                hint = f': a cluster with hadoop-aws reads s3a{path[2:]}'
            raise ValueError(f'{path}: -r {self.name} expects a path {self.location}{hint}')

    def bring(self, file: InputFile) -> str:
        """Copy a file to where tasks reach it, once; returns where that is."""
        raise NotImplementedError

    def copy_inputs(self, plan: InputPlan) -> InputPlan:
        """Return the plan with every file where tasks can read it; others are copied there once."""
        return replace(
            plan,
            files=[
                replace(file, uri=file.uri or (file.path if self.reaches(file.path) else self.bring(file)))
                for file in plan.files
            ],
        )

    def keep_parsed(self, plan: InputPlan) -> InputPlan:
        """Return the plan for a data set of more than one pass; tasks that share a disk keep parsed rows there."""
        return plan

    @property
    def n_processes(self) -> int:
        """Return how many tasks may run at once."""
        return os.cpu_count() or 1

    @property
    def n_maps(self) -> int:
        """Return how many map tasks to plan: mapreduce.job.maps when it is set, else one a process."""
        return self.wanted_maps or self.n_processes

    @property
    def n_threads(self) -> int:
        """Return in how many threads to compute between jobs."""
        return min(self.n_maps, os.cpu_count() or 1)

    def maps_over(self, n_bytes: int) -> int:
        """Return how many map tasks there are: one for each of Hadoop's usual splits, or more where wanted."""
        return max(-(-n_bytes // SPLIT_BYTES), self.wanted_maps or 1)

    def reducers(self, n: int) -> list[str]:
        """Return the arguments that ask for n reduce tasks; none where one will do or there is no choice."""
        return []

    @contextmanager
    def attempts_folder(self, folder: str) -> Iterator[str]:
        """Give a folder where attempts of tasks leave files for an output folder; this vanishes when anything fails."""
        try:
            yield f'{folder}/_attempts'
            store_of(folder).remove(f'{folder}/_attempts')
        except BaseException:
            if store_of(folder).find(folder):
                store_of(folder).remove(folder)
            raise


def pairs_of(arguments: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (option, value) for neighbours on a command line, and for --option=value."""
    for flag, value in zip(arguments, [*arguments[1:], ''], strict=False):
        name, equals, rest = flag.partition('=')
        if equals and name.startswith('--'):
            yield (name, rest)
        else:
            yield (flag, value)
