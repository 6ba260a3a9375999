"""Use mrjob 0.7.4 where it offers no public name: all private names of it stand here, so that an update has one place.

mrjob is pinned in setup.cfg for their sake.
"""
import argparse
import re
import subprocess
from urllib.parse import quote

PLAIN = re.compile(r'[\w.,:/=+@-]+', re.ASCII)


class ProofArguments:
    """Mix into a job: hand arguments to its tasks so that they survive Hadoop."""

    def _non_option_kwargs(self):
        kwargs = super()._non_option_kwargs()
        kwargs['extra_args'] = [shell_proof(word) if isinstance(word, str) else word for word in kwargs['extra_args']]
        return kwargs


def shell_proof(argument):
    """Write an argument without what Hadoop Streaming, which knows no escapes, or a shell would take for a mark."""
    return argument if PLAIN.fullmatch(argument) else f'%{quote(argument, safe="")}'


class ThreadedTasks:
    """Mix into LocalMRJobRunner: start each task from the driver itself, by `start_all` and `run_process`."""

    def _run_multiple(self, funcs, num_processes=None):
        self.start_all(funcs, self._num_cores())

    def _invoke_task_func(self, task_type, step_num, task_num):
        from mrjob.local import _TaskFailedException
        arguments = self._substep_args(step_num, task_type)

        def invoke(stdin, stdout, stderr, wd, env):
            try:
                self.run_process(arguments, stdin=stdin, stdout=stdout, stderr=stderr, cwd=wd, env=env)
            except (subprocess.CalledProcessError, OSError) as error:
                raise _TaskFailedException(str(error), step_num, self._num_steps(), task_type=task_type,
                                           task_num=task_num) from None
        return invoke


class GivenFolder:
    """Mix into EMRJobRunner: make no bucket for temporary files, but call `demand_folder`."""

    def _set_cloud_tmp_dir(self):
        self.demand_folder()


def runner_arguments(job):
    """Return what the runner of a job is made with."""
    return job._runner_kwargs()


def options_of(running):
    """Return the options of a runner, with those of its configuration files: name -> value."""
    return running._opts


def scratch_folder(running):
    """Return the folder of this machine where a runner keeps its files, such as the counters of embedded tasks."""
    return running._get_local_tmp_dir()


def failed_input(running):
    """Return the input of the task of the inline runner that failed, or None."""
    return running._error_while_reading_from


def task_files(running, kind, step, number):
    """Return the paths of input, standard error and output of a task of the embedded runners."""
    return tuple(find(kind, step, number) for find in (
        running._task_input_path, running._task_stderr_path, running._task_output_path))


def last_step(running):
    """Return what mrjob found in the log of the last step on Hadoop: a dictionary, empty when there was none."""
    return running._log_interpretations[-1].get('step', {}) if running._log_interpretations else {}


def last_emr_step(running):
    """Return the last step on EMR, or None when there was none."""
    return running._step_ids[-1] if running._step_ids else None


def log_folder(running):
    """Return the folder of S3 where a cluster of EMR keeps its logs, or None."""
    return running._s3_log_dir()


def parse_step_log(lines):
    """Return what the log of a step on EMR tells: a dictionary."""
    from mrjob.logs.step import _parse_step_syslog
    return _parse_step_syslog(lines)


def active_states():
    """Return the states of a cluster of EMR that has not ended."""
    from mrjob.emr import _ACTIVE_CLUSTER_STATES
    return _ACTIVE_CLUSTER_STATES


def default_release():
    """Return the release of EMR that mrjob takes when none is named."""
    from mrjob.emr import _DEFAULT_IMAGE_VERSION
    return f'emr-{_DEFAULT_IMAGE_VERSION}'


def endpoint_url(endpoint):
    """Return the address of an endpoint of Amazon's."""
    from mrjob.fs.s3 import _endpoint_url
    return _endpoint_url(endpoint)


def split_words(job, argv):
    """Separate the options of a stage, for its tasks, from those of its runner: [(destination, words, is it own)]."""
    from mrjob.options import _parse_raw_args
    own = job._passthru_arg_dests | job._file_arg_dests
    return [(dest, [option, *values], dest in own) for dest, option, values in _parse_raw_args(job.arg_parser, argv)]


def file_options(job):
    """Return the names of the options of a stage whose values are files for its tasks."""
    return job._file_arg_dests


def own_actions(job):
    """List the argparse actions of the options of a stage."""
    own = job._passthru_arg_dests | job._file_arg_dests
    return [action for action in job.arg_parser._actions if action.dest in own]


def prints_output(job):
    """Tell whether a job run by hand writes its output to standard output."""
    return job._should_cat_output()


def runner_option_arity():
    """Map each runner option of mrjob to the number of values it takes."""
    from mrjob.options import _RUNNER_OPTS, _add_basic_args, _add_runner_args
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    _add_basic_args(parser)
    _add_runner_args(parser, set(_RUNNER_OPTS))
    parser.add_argument('--output-dir')
    parser.add_argument('--step-output-dir')
    return {name: 1 if action.nargs is None else action.nargs
            for name, action in parser._option_string_actions.items()}


def step_options():
    """List the options by which mrjob tells a task what to run."""
    from mrjob.options import _STEP_OPTS
    return [name for names, _ in _STEP_OPTS.values() for name in names]
