"""Say where jobs run, and what is kept there for them."""
import logging
import os
import tempfile
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module

from mr_elm.engines.hadoop.yarn import Yarn
from mr_elm.engines.progress import Reporter
from mr_elm.files.storage import copy, is_local, scheme_of
from mr_elm.passes.work import Work, copy_name, new_staging

EMBEDDED = ('inline', 'local')
SPLIT_BYTES = 128 << 20  # of a map task, as Hadoop cuts large files
REACH = {'hadoop': ('hdfs', 's3a'), 'emr': ('s3', 's3a')}  # where tasks of a cluster can read and write

# mrjob speaks only to those who listen (mr-elm --verbose); errors reach the user as exceptions
logging.getLogger('mrjob').addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Runner:
    """Say where jobs run. A context: what was put on the cluster for them vanishes at its end.

    alias : inline, local, hadoop or emr.
    arguments : mrjob's runner options, as on the command line.
    reporter : speaks to the user.
    python : the Python of the nodes, with numpy and scipy; None for `python3`, or for this one on the local cluster.
    bundle : archive with Python's environment and the code for the nodes, from `make_bundle`; or None.
    output : what the run makes, for the record of an unfinished run; resume : go on with that one.
    trace : a file of this machine to write down what each job took, or None.
    clusters : the cluster of EMR that the jobs share, once there is one.
    """

    alias: str = 'inline'
    arguments: tuple = ()
    reporter: Reporter = field(default_factory=lambda: Reporter(quiet=True))
    python: str | None = None
    bundle: str | None = None
    output: str | None = None
    resume: bool = False
    trace: str | None = None
    clusters: list = field(default_factory=list)

    def __enter__(self):
        if self.alias not in EMBEDDED:
            self.work.open()
        return self

    def __exit__(self, kind, error, trace):
        if self.alias not in EMBEDDED:
            self.work.close(error)
        if 'copies' in self.__dict__:
            self.copies.cleanup()

    @cached_property
    def work(self):
        """Return what the run keeps on the cluster."""
        if self.alias == 'emr':
            staging = new_staging(self.emr_options['cloud_tmp_dir'].rstrip('/'))
            return Work(staging, self.reporter, emr().Steps(self.emr_options), self.output, self.resume)
        return Work(new_staging(), self.reporter, Yarn(), self.output, self.resume)

    @cached_property
    def copies(self):
        """Return a folder of this machine for copies of files that tasks here cannot read where they are."""
        return tempfile.TemporaryDirectory(prefix='mr_elm-')

    @cached_property
    def emr_options(self):
        """Return mrjob's options for EMR."""
        return emr().read_options((*conf_arguments(self), *self.arguments))

    def prepare(self, inputs):
        """Refuse inputs that tasks cannot be given, and let S3 be found where mrjob's options say that it is."""
        if self.alias == 'emr':
            emr().use_connection(self.emr_options)
        for path in inputs:
            if self.alias in REACH and not is_local(path):
                self.demand_reach(path)

    def placed(self, plan):
        """Return the plan with every file where tasks can read it; others are copied there once."""
        return replace(plan, files=[replace(file, uri=self.uri_of(file)) for file in plan.files])

    def uri_of(self, file):
        """Return where tasks find a file."""
        if self.reaches(file.path):
            return file.path
        if self.alias in REACH:
            return self.work.place(file)
        path = os.path.join(self.copies.name, copy_name(file))
        if not os.path.exists(path):
            copy(file.path, path)
        return path

    def reaches(self, path):
        """Tell whether tasks can read and write at a path."""
        return scheme_of(path) in REACH.get(self.alias, ('',))

    def demand_reach(self, path):
        """Raise ValueError when tasks cannot read or write at a path."""
        if not self.reaches(path):
            place = {'hadoop': 'on HDFS', 'emr': 'on S3'}.get(self.alias, 'on this machine')
            hint = f': a cluster with hadoop-aws reads s3a{path[2:]}' if path.startswith('s3:') else ''
            raise ValueError(f'{path}: a path {place} was expected by -r {self.alias}{hint}')

    @property
    def wanted_maps(self):
        """Return the value of mapreduce.job.maps, or None where it is not set. Raises ValueError."""
        wanted = self.value_of('mapreduce.job.maps')
        if wanted is not None and not wanted.isdigit():
            raise ValueError(f'-D mapreduce.job.maps: a whole number was expected, {wanted!r} came')
        return None if wanted is None else int(wanted)

    @property
    def n_maps(self):
        """Return how many map tasks to plan: mapreduce.job.maps when it is set, else one a core, or one inline."""
        if self.wanted_maps is not None:
            return self.wanted_maps
        cores = self.option('--num-cores') or os.cpu_count()
        return 1 if self.alias == 'inline' else int(cores)

    def maps_over(self, n_bytes):
        """Return how many map tasks a cluster starts: one for each of Hadoop's usual splits, or more where wanted."""
        return max(-(-n_bytes // SPLIT_BYTES), self.wanted_maps or 1)

    def reducers(self, n):
        """Return the arguments that ask for n reduce tasks, none where one will do or the user has said how many."""
        if n == 1 or self.alias in EMBEDDED or self.value_of('mapreduce.job.reduces') is not None:
            return []
        return ['-D', f'mapreduce.job.reduces={n}']

    def option(self, name):
        """Return the last value given for a runner option, or None."""
        values = [value for flag, value in pairs_of(self.arguments) if flag == name]
        return values[-1] if values else None

    def value_of(self, key):
        """Return the last value given for a jobconf key, or None."""
        values = [value.partition('=')[2] for flag, value in pairs_of(self.arguments)
                  if flag in ('-D', '--jobconf') and value.partition('=')[0] == key]
        return values[-1] if values else None


def pairs_of(arguments):
    """Yield (option, value) for neighbours on a command line, and for --option=value."""
    for flag, value in zip(arguments, [*arguments[1:], ''], strict=False):
        name, equals, rest = flag.partition('=')
        yield (name, rest) if equals and name.startswith('--') else (flag, value)


def emr():
    """Return the module of EMR; only who runs there waits for boto3."""
    return import_module('mr_elm.engines.emr.emr')


def conf_arguments(runner):
    """Leave mrjob's own configuration files out unless the user names one."""
    named = any(flag in ('-c', '--conf-path') for flag, _ in pairs_of(runner.arguments)) or 'MRJOB_CONF' in os.environ
    return [] if named else ['--no-conf']
