"""Go through a training whose stages are run by hand: take their outputs from files, write what the next one needs.

A driver asks for one stage after another. While there is an output for each, the driver goes on as if it had run the
stage itself; at the first stage without one it stops, and the files that this stage needs are left beside the model.
"""
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field

from mr_elm.errors import AccountingError
from mr_elm.streaming.finished import Finished
from mr_elm.streaming.runner import Runner


class StageWanted(Exception):
    """Stop a driver: the stage `noun` of mr_NOUN.py must be run next."""

    def __init__(self, noun):
        super().__init__(f'the output of mr_{noun} was expected next, no more outputs were named')
        self.noun = noun


@dataclass(frozen=True)
class Recording(Finished):
    """Give access to the output of a stage that was run by hand; `folder` is the one file that holds it."""

    def parts(self):
        """List the one part."""
        return [self.folder]


@dataclass(frozen=True)
class Replay(Runner):
    """Stand for a Runner whose jobs were run by hand.

    outputs : files, one a stage, in the order of the stages; the name of each holds the noun of its stage.
    prefix : what the names of the files for the next stage begin with.
    rows : paths of the rows of the training, which stages are given by the user.
    """

    outputs: tuple = ()
    prefix: str = ''
    rows: tuple = ()
    taken: list = field(default_factory=list)

    @contextmanager
    def run_job(self, job_class, plan, arguments, stage):
        """Take the next output; the context's value is a Recording. Raises StageWanted when there is none."""
        noun = noun_of(job_class)
        if len(self.taken) == len(self.outputs):
            self.leave_files(plan, arguments)
            raise StageWanted(noun)
        path = self.outputs[len(self.taken)]
        if noun not in os.path.basename(path).split('.'):
            raise AccountingError(f'{path}: the output of mr_{noun} was expected here, in a file whose name has '
                                  f'.{noun} in it: name the outputs of all stages in their order')
        self.taken.append(path)
        yield Recording(job_class, path)

    def leave_files(self, plan, arguments):
        """Copy the files that the next stage is given, and those that it reads instead of the rows."""
        for option, path in zip(arguments, arguments[1:], strict=False):
            if option.startswith('--') and os.path.isfile(path):
                shutil.copyfile(path, f'{self.prefix}.{option[2:]}{os.path.splitext(path)[1]}')
        for file in plan.files:
            if file.path not in self.rows:
                shutil.copyfile(file.path, f'{self.prefix}.{os.path.basename(file.path)}')


def noun_of(job_class):
    """Return what a stage is called: kernel_rows for the class in mr_kernel_rows.py."""
    return job_class.__module__.rpartition('.')[2].removeprefix('mr_')
