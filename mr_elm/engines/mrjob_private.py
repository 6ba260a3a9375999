"""Use mrjob 0.7.4 where it offers no public name: all private names stand here, and setup.cfg pins it."""

from __future__ import annotations

from typing import Any

from mrjob.options import _parse_raw_args

RUNTIME_ROLE = 'ExecutionRoleArn'  # as Amazon calls it


def split_words(job: Any, argv: list[str]) -> list[tuple[str, list[str]]]:
    """Separate the options on a command line that a job has parsed: [(destination, words)]."""
    return [(dest, [*filter(None, [flag]), *values]) for dest, flag, values in _parse_raw_args(job.arg_parser, argv)]


def own_options(job: Any) -> set[str]:
    """Return the destinations of the options of a stage, without those that all jobs of mrjob have."""
    return job._passthru_arg_dests | job._file_arg_dests


def file_options(job: Any) -> set[str]:
    """Return those of them whose values are files for the tasks of the stage."""
    return job._file_arg_dests


def protect_words(job: Any) -> None:
    """Hand the options of a stage to its tasks so that they survive Hadoop; `stage.as_meant` reads them back."""
    collect = job._non_option_kwargs

    def protect() -> dict[str, Any]:
        kwargs = collect()
        kwargs['extra_args'] = job.shell_proof(kwargs['extra_args'])
        return kwargs

    job._non_option_kwargs = protect


class GivenFolder:
    """Mix into EMRJobRunner: make no bucket for temporary files, but call `demand_folder`."""

    def _set_cloud_tmp_dir(self: Any) -> None:
        self.demand_folder()


class TagsAndRoles:
    """Mix into EMRJobRunner: make clusters with their tags, and run steps with a runtime role.

    mrjob adds tags too late for AmazonEMRServicePolicy_v2, and knows no runtime role: it is a parameter of clusters.
    """

    def _cluster_kwargs(self: Any, persistent: bool = False) -> dict[str, Any]:
        kwargs = super()._cluster_kwargs(persistent)  # type: ignore[misc]
        kwargs.pop(RUNTIME_ROLE, None)
        tags = [{'Key': key, 'Value': value} for key, value in sorted(self._opts['tags'].items())]
        return {**kwargs, 'Tags': [*kwargs.get('Tags', []), *tags]}

    def _add_steps_to_cluster(self: Any, steps: list[dict[str, Any]]) -> None:
        role = self._opts['extra_cluster_params'].get(RUNTIME_ROLE)
        if role:
            roles = {RUNTIME_ROLE: role}
        else:
            roles = {}
        added = self.make_emr_client().add_job_flow_steps(JobFlowId=self._cluster_id, Steps=steps, **roles)
        self._step_ids.extend(added['StepIds'])


def runner_arguments(job: Any) -> dict[str, Any]:
    """Return what the runner of a job is made with."""
    return job._runner_kwargs()


def options_of(running: Any) -> dict[str, Any]:
    """Return the options of a runner, with those of its configuration files: name -> value."""
    return running._opts


def last_step(running: Any) -> dict[str, Any]:
    """Return what mrjob found in the log of the last step on Hadoop: a dictionary, empty when there was none."""
    if running._log_interpretations:
        return running._log_interpretations[-1].get('step', {})
    return {}


def last_emr_step(running: Any) -> str | None:
    """Return the last step on EMR, or None when there was none."""
    if running._step_ids:
        return running._step_ids[-1]
    return None


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
