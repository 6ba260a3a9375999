"""Go through a training whose stages are run by hand: take their outputs from files, write what the next one needs.

A driver asks for one stage after another. While there is an output for each, the driver goes on as if it had run the
stage itself; at the first stage without one it stops, and the files that this stage needs are left beside the model.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mr_elm.engines.base import Engine
from mr_elm.engines.mrjob_private import file_options
from mr_elm.errors import AccountingError
from mr_elm.passes.data_set import JobOutput
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.store import write_json


class StageWanted(AccountingError):
    """Stop a driver: the stage `noun` of mr_NOUN.py must be run next.

    words : its options and inputs.
    """

    def __init__(self, noun: str, words: list[str]) -> None:
        super().__init__(f'expected the output of mr_{noun} next, found no more outputs')
        self.noun = noun
        self.words = words


@dataclass(frozen=True)
class Recording(JobOutput):
    """Give access to the output of a stage that was run by hand; `folder` is the one file that holds it."""

    def parts(self) -> list[str]:
        """List the one part."""
        return [self.folder]


@dataclass(frozen=True)
class Replay(Engine):
    """Take what jobs have written from files: the jobs were run by hand.

    outputs : files, one a stage, in the order of the stages; their names end in .NOUN or .NOUN.N.
    prefix : what the names of the files for the next stage begin with.
    rows : paths of the rows of the training. row_words : the words by which a stage reads them.
    """

    name = 'inline'
    by_hand = True

    outputs: tuple[str, ...] = ()
    prefix: str = ''
    rows: tuple[str, ...] = ()
    row_words: tuple[str, ...] = ()
    taken: list[str] = field(default_factory=list)

    @contextmanager
    def run_job(self, job_class: type, plan: InputPlan, arguments: list[str], stage: str) -> Iterator[JobOutput]:
        """Take the next output; the context's value is a Recording. Raises StageWanted when there is none."""
        noun = noun_of(job_class)
        if len(self.taken) == len(self.outputs):
            options = self.leave_options(job_class, arguments)
            inputs = self.leave_inputs(plan)
            raise StageWanted(noun, [*options, *(inputs or self.row_words)])
        path = self.outputs[len(self.taken)]
        if os.path.isdir(path) or not re.search(rf'\.{noun}(\.\d+)?$', path):
            raise AccountingError(
                f'{path}: expected a file with the output of mr_{noun}, as in {self.prefix}.{noun}: name the '
                'outputs of all stages in their order'
            )
        self.taken.append(path)
        yield Recording(job_class, path)

    def bring(self, file: InputFile) -> str:
        """Return where a file is: nothing is read of it."""
        return file.path

    @property
    def n_processes(self) -> int:
        """Return one: stages run by hand run inline."""
        return 1

    def leave_options(self, job_class: Any, arguments: list[str]) -> list[str]:
        """Copy the files that the next stage is given; returns its options, which name the copies."""
        names_of_files = file_options(job_class(args=[]))
        words = list(arguments)
        for position, (option, path) in enumerate(zip(arguments, arguments[1:], strict=False), 1):
            if option.startswith('--') and option[2:].replace('-', '_') in names_of_files:
                words[position] = f'{self.prefix}.{option[2:]}{os.path.splitext(path)[1]}'
                shutil.copyfile(path, words[position])
        return words

    def leave_inputs(self, plan: InputPlan) -> list[str]:
        """Write the plan of the next stage; returns the files that it reads, none where these are the rows."""
        write_json(f'{self.prefix}.plan.json', plan.to_json())
        taken = {os.path.abspath(path): path for path in self.taken}
        inputs = []
        for file in plan.files:
            if file.path in self.rows:
                continue
            inputs.append(taken.get(file.path) or f'{self.prefix}.{os.path.basename(file.path)}')
            if file.path not in taken:
                shutil.copyfile(file.path, inputs[-1])
        return inputs


def noun_of(job_class: type) -> str:
    """Return what a stage is called: kernel_rows for the class in mr_kernel_rows.py."""
    return job_class.__module__.rpartition('.')[2].removeprefix('mr_')
