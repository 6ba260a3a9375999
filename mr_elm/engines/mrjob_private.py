"""Use mrjob 0.7.4 where it offers no public name: all private names of it stand here, so that an update has one place.

mrjob is pinned in setup.cfg for their sake.
"""
from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import total_ordering
from importlib import import_module
from threading import local
from types import ModuleType
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

RUNTIME_ROLE = 'ExecutionRoleArn'  # as Amazon calls it
PLAIN = re.compile(r'[\w.,:/=+@-]+', re.ASCII)


@total_ordering
class NumberedVersion:
    """Compare versions such as 2.7.3 by their numbers, as mrjob does by the LooseVersion of distutils."""

    def __init__(self, text: str) -> None:
        self.numbers = [int(number) for number in re.findall(r'\d+', text)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumberedVersion) and self.numbers == other.numbers

    def __lt__(self, other: NumberedVersion) -> bool:
        return self.numbers < other.numbers

    def __hash__(self) -> int:
        return hash(tuple(self.numbers))


def import_lightly(name: str) -> ModuleType:
    """Import a module of mrjob without packages that take longer to import than mrjob and numpy; returns the module.

    Of distutils, a part of setuptools, mrjob needs two names, and of pyspark none for the jobs that it runs here.
    """
    stubs: dict[str, Any] = {'distutils': ModuleType('distutils'), 'distutils.spawn': ModuleType('distutils.spawn'),
                             'distutils.version': ModuleType('distutils.version'), 'pyspark': None}
    stubs['distutils.spawn'].find_executable = shutil.which
    stubs['distutils.version'].LooseVersion = NumberedVersion
    known = {package: sys.modules[package] for package in stubs if package in sys.modules}
    sys.modules.update(stubs)
    try:
        return import_module(name)
    finally:
        for package in stubs:
            del sys.modules[package]
        sys.modules.update(known)


import_lightly('mrjob.util')
import_lightly('mrjob.compat')


class DefinedOnce:
    """Mix into a job: define its options once in a thread, as that takes longer than a task on few rows."""

    def __init__(self, args: list[str]) -> None:
        if type(self) in DEFINED.options:
            self.configure_args = self.recall_args
        try:
            super().__init__(args)  # type: ignore[call-arg]
        finally:
            vars(self).pop('configure_args', None)  # a circle would keep the job, and its sums, until it is collected
        DEFINED.options[type(self)] = {name: getattr(self, name) for name in DEFINITION}

    def recall_args(self) -> None:
        """Stand for `configure_args` from the second job of a class on."""
        vars(self).update(DEFINED.options[type(self)])


class Definitions(local):
    """Hold what jobs have defined, for each thread: a parser changes while it parses."""

    def __init__(self) -> None:
        self.options: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()


DEFINED = Definitions()
DEFINITION = 'arg_parser', '_passthru_arg_dests', '_file_arg_dests'


class ProofArguments:
    """Mix into a job: hand arguments to its tasks so that they survive Hadoop."""

    def _non_option_kwargs(self) -> dict[str, Any]:
        kwargs = super()._non_option_kwargs()  # type: ignore[misc]
        kwargs['extra_args'] = [shell_proof(word) if isinstance(word, str) else word for word in kwargs['extra_args']]
        return kwargs


def shell_proof(argument: str) -> str:
    """Write an argument without what Hadoop Streaming, which knows no escapes, or a shell would take for a mark."""
    return argument if PLAIN.fullmatch(argument) else f'%{quote(argument, safe="")}'


class ThreadedTasks:
    """Mix into LocalMRJobRunner: start each task from the driver itself, by `start_all` and `run_process`."""

    def _run_multiple(self: Any, funcs: list, num_processes: int | None = None) -> None:
        self.start_all(funcs, self._num_cores())

    def _invoke_task_func(self: Any, task_type: str, step_num: int, task_num: int) -> Callable[..., None]:
        from mrjob.local import _TaskFailedException
        arguments = self._substep_args(step_num, task_type)

        def invoke(stdin: Any, stdout: Any, stderr: Any, wd: str, env: dict[str, str]) -> None:
            try:
                self.run_process(arguments, stdin=stdin, stdout=stdout, stderr=stderr, cwd=wd, env=env)
            except (subprocess.CalledProcessError, OSError) as error:
                raise _TaskFailedException(str(error), step_num, self._num_steps(), task_type=task_type,
                                           task_num=task_num) from None
        return invoke


class GivenFolder:
    """Mix into EMRJobRunner: make no bucket for temporary files, but call `demand_folder`."""

    def _set_cloud_tmp_dir(self: Any) -> None:
        self.demand_folder()


class TagsAndRoles:
    """Mix into EMRJobRunner: make clusters with their tags, and run steps with a runtime role.

    mrjob adds tags to a cluster that exists, which AmazonEMRServicePolicy_v2 takes too late. It knows no runtime roles:
    the role is a parameter of clusters, ExecutionRoleArn, that is taken for steps.
    """

    def _cluster_kwargs(self: Any, persistent: bool = False) -> dict[str, Any]:
        kwargs = super()._cluster_kwargs(persistent)  # type: ignore[misc]
        kwargs.pop(RUNTIME_ROLE, None)
        tags = [{'Key': key, 'Value': value} for key, value in sorted(self._opts['tags'].items())]
        return {**kwargs, 'Tags': [*kwargs.get('Tags', []), *tags]}

    def _add_steps_to_cluster(self: Any, steps: list[dict[str, Any]]) -> None:
        role = self._opts['extra_cluster_params'].get(RUNTIME_ROLE)
        roles = {RUNTIME_ROLE: role} if role else {}
        added = self.make_emr_client().add_job_flow_steps(JobFlowId=self._cluster_id, Steps=steps, **roles)
        self._step_ids.extend(added['StepIds'])


def runner_arguments(job: Any) -> dict[str, Any]:
    """Return what the runner of a job is made with."""
    return job._runner_kwargs()


def options_of(running: Any) -> dict[str, Any]:
    """Return the options of a runner, with those of its configuration files: name -> value."""
    return running._opts


def scratch_folder(running: Any) -> str:
    """Return the folder of this machine where a runner keeps its files, such as the counters of embedded tasks."""
    return running._get_local_tmp_dir()


def failed_input(running: Any) -> str | None:
    """Return the input of the task of the inline runner that failed, or None."""
    return running._error_while_reading_from


def task_files(running: Any, kind: str, step: int, number: int) -> tuple[str, ...]:
    """Return the paths of input, standard error and output of a task of the embedded runners."""
    return tuple(find(kind, step, number) for find in (
        running._task_input_path, running._task_stderr_path, running._task_output_path))


def last_step(running: Any) -> dict[str, Any]:
    """Return what mrjob found in the log of the last step on Hadoop: a dictionary, empty when there was none."""
    return running._log_interpretations[-1].get('step', {}) if running._log_interpretations else {}


def last_emr_step(running: Any) -> str | None:
    """Return the last step on EMR, or None when there was none."""
    return running._step_ids[-1] if running._step_ids else None


def log_folder(running: Any) -> str | None:
    """Return the folder of S3 where a cluster of EMR keeps its logs, or None."""
    return running._s3_log_dir()


def parse_step_log(lines: list[str]) -> dict[str, Any]:
    """Return what the log of a step on EMR tells: a dictionary."""
    from mrjob.logs.step import _parse_step_syslog
    return _parse_step_syslog(lines)


def active_states() -> list[str]:
    """Return the states of a cluster of EMR that has not ended."""
    from mrjob.emr import _ACTIVE_CLUSTER_STATES
    return _ACTIVE_CLUSTER_STATES


def default_release() -> str:
    """Return the release of EMR that mrjob takes when none is named."""
    from mrjob.emr import _DEFAULT_IMAGE_VERSION
    return f'emr-{_DEFAULT_IMAGE_VERSION}'


def endpoint_url(endpoint: str) -> str:
    """Return the address of an endpoint of Amazon's."""
    from mrjob.fs.s3 import _endpoint_url
    return _endpoint_url(endpoint)


def split_words(job: Any, argv: list[str]) -> list[tuple[str, list[str], bool]]:
    """Separate the options of a stage, for its tasks, from those of its runner: [(destination, words, is it own)]."""
    from mrjob.options import _parse_raw_args
    own = job._passthru_arg_dests | job._file_arg_dests
    return [(dest, [option, *values], dest in own) for dest, option, values in _parse_raw_args(job.arg_parser, argv)]


def file_options(job: Any) -> set[str]:
    """Return the names of the options of a stage whose values are files for its tasks."""
    return job._file_arg_dests


def own_actions(job: Any) -> list[argparse.Action]:
    """List the argparse actions of the options of a stage."""
    own = job._passthru_arg_dests | job._file_arg_dests
    return [action for action in job.arg_parser._actions if action.dest in own]


def prints_output(job: Any) -> bool:
    """Tell whether a job run by hand writes its output to standard output."""
    return job._should_cat_output()


def runner_option_arity() -> dict[str, int]:
    """Map each runner option of mrjob to the number of values it takes."""
    from mrjob.options import _RUNNER_OPTS, _add_basic_args, _add_runner_args
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    _add_basic_args(parser)
    _add_runner_args(parser, set(_RUNNER_OPTS))
    parser.add_argument('--output-dir')
    parser.add_argument('--step-output-dir')
    return {name: 1 if action.nargs is None else int(action.nargs)
            for name, action in parser._option_string_actions.items()}


def step_options() -> list[str]:
    """List the options by which mrjob tells a task what to run."""
    from mrjob.options import _STEP_OPTS
    return [name for names, _ in _STEP_OPTS.values() for name in names]
