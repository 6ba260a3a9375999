"""Run a stage on this machine by mrjob's own runners, as any job of mrjob is run by hand."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mrjob.step import StepFailedException

from mr_elm.engines.base import pairs_of
from mr_elm.engines.local import LocalCopies
from mr_elm.engines.task_logs import find_cause
from mr_elm.engines.tasks import task_variables
from mr_elm.errors import TaskError
from mr_elm.passes.data_set import JobOutput
from mr_elm.progress import LogLines, Reporter, Stage
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.splits import plan_splits
from mr_elm.store import temporary_folder, write_json

# mrjob speaks only to those who listen (mr-elm --verbose); errors reach the user as exceptions
logging.getLogger('mrjob').addHandler(logging.NullHandler())


@dataclass(frozen=True)
class MRJobRunner(LocalCopies):
    """Run jobs by the runner of mrjob of a name, inline or local, whose options are the engine's arguments."""

    runner: str = 'inline'

    @contextmanager
    def run_job(self, job_class: Any, plan: InputPlan, arguments: list[str], stage: str) -> Iterator[JobOutput]:
        """Run a job; the context's value is its `JobOutput` output, which vanishes at the end."""
        with temporary_folder() as folder:
            plan = self.copy_inputs(plan)
            words = ['--no-bootstrap-mrjob', *arguments, *plan_tasks(plan, self.n_maps, folder)]
            job = job_class(args=make_words(self.runner, plan, self.arguments, words, folder))
            heard = io.StringIO()
            with job.make_runner() as running, LogLines(Reporter(stream=heard)).listening('mrjob'):
                with Stage(self.reporter, stage, plan.size, plan.n_rows):
                    try:
                        running.run()
                    except StepFailedException as error:
                        cause = find_cause(heard.getvalue()) or str(error)
                        raise TaskError(f'{job_class.__name__}: {cause}') from error
                yield JobOutput(job_class, running.get_output_dir())

    @property
    def n_processes(self) -> int:
        """Return how many processes the runner starts."""
        if self.runner == 'inline':
            return 1
        return int(self.option('--num-cores') or super().n_processes)


def conf_arguments(arguments: tuple[str, ...]) -> list[str]:
    """Return the option that leaves mrjob's own configuration files out, unless the user names one."""
    named = any(flag in ('-c', '--conf-path') for flag, _ in pairs_of(arguments))
    if named or 'MRJOB_CONF' in os.environ:
        return []
    return ['--no-conf']


def make_words(runner: str, plan: InputPlan, arguments: tuple[str, ...], words: list[str], folder: str) -> list[str]:
    """Return the command line of a job, whose plan is written to a folder.

    arguments : options of the runner of mrjob. words : of the job, and its inputs.
    """
    conf = conf_arguments(arguments)
    if conf:  # mrjob would name a folder for its files by the microsecond, which two drivers may share
        conf += ['--local-tmp-dir', folder]
    return [
        '-r',
        runner,
        *conf,
        *arguments,
        *(text for name, value in task_variables().items() for text in ('--cmdenv', f'{name}={value}')),
        '--plan',
        write_json(os.path.join(folder, 'plan.json'), plan.to_json()),
        *words,
    ]


def plan_tasks(plan: InputPlan, n_maps: int, folder: str) -> list[str]:
    """Write the splits of each of at most n_maps tasks to a file of one line, so that there is one map task a file.

    Returns the arguments that give a job these tasks.
    """
    return [
        '--planned-splits',
        *(
            write_json(os.path.join(folder, f'task-{number:05d}.json'), task, '\n')
            for number, task in enumerate(plan_splits(plan, n_maps))
        ),
    ]
