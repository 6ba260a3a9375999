"""Options that several commands share, and the parting of our options from mrjob's."""

import argparse
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING, Any, NoReturn

from mr_elm.cli import COMPLETING
from mr_elm.cli.examples import EXAMPLES
from mr_elm.engines import DEFAULT_ENGINE, ENGINES, INLINE_BYTES, make_engine
from mr_elm.errors import suggest
from mr_elm.option import FLAG, AdvancedHelp, add_options, option, option_fields
from mr_elm.progress import LogLines, Reporter
from mr_elm.rows.options import RowOptions, add_row_options
from mr_elm.rows.storage import COPY_BYTES, STANDARD, Entry
from mr_elm.store import is_stream, temporary_prefix

if TYPE_CHECKING:  # a command that runs no job loads neither engines nor readers of rows
    from mr_elm.engines.base import Engine
    from mr_elm.rows.inputs import InputPlan

INVALID = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)")  # in what argparse says


@dataclass(frozen=True)
class RunnerOptions:
    """Say how much runs at once, and where Spark does."""

    jobs: int | None = option(
        None,
        'local: the number of processes (default: MR_ELM_JOBS, or one for each core; fewer if --memory is too small '
        'for so many)',
        'runner',
        advanced=True,
    )
    master: str | None = option(
        None,
        'spark: where it runs, such as local[*], yarn, spark://HOST:PORT, or sc://HOST for a server of Spark Connect '
        '(default: that of the open session, of spark-submit, or of SPARK_REMOTE)',
        'runner',
        metavar='URL',
        advanced=True,
    )
    partitions_of_rows: int | None = option(
        None,
        'spark: the number of map tasks (default: one for each core, or on a cluster one for each 128 MB if those are '
        'more)',
        'runner',
        advanced=True,
    )


class Parser(argparse.ArgumentParser):
    """Parse one command's options: no abbreviations, and mrjob's runner options set apart with their arity."""

    def __init__(self, command: str, description: str | None, runs_jobs: bool = True) -> None:
        usage, examples = EXAMPLES[command]
        super().__init__(
            prog=f'mr-elm {command}',
            usage=f'mr-elm {command} {usage}',
            description=fill(description or '', 78),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            epilog='\n'.join(['examples:', *(f'  # {what}\n  mr-elm {line}' for line, what in examples.items())]),
        )
        self.add_argument(
            '--help-all',
            action=HelpPage,
            nargs=0,
            default=argparse.SUPPRESS,
            help='show all options of the command itself and exit',
        )
        self.add_argument(
            '--config',
            metavar='FILE.toml',
            default=argparse.SUPPRESS,
            help=AdvancedHelp(
                'read options from a file, such as hidden = 500 or scale = "minmax"; the command line counts more'
            ),
        )
        self.add_argument(
            '--log-file',
            metavar='FILE',
            default=argparse.SUPPRESS,
            help=AdvancedHelp('add what the command says on standard error to a file, each line with the time'),
        )
        self.runs_jobs = runs_jobs
        self.reads_standard = False
        self.page: str | None = None  # of the help: a group of options, '' for all others, None for the most used
        self.groups: dict[str, Any] = {'': self}
        self.paths = {'': ''}  # option -> file of --config that it stands in, '' for the command line

    def group(self, title: str) -> Any:
        """Return the group of options under a title, which is made when it is first asked for; '' for no group."""
        if title not in self.groups:
            self.groups[title] = self.add_argument_group(title)
            if title in PAGES:
                self.add_argument(
                    PAGES[title],
                    action=HelpPage,
                    nargs=0,
                    const=title,
                    default=argparse.SUPPRESS,
                    help=f'show the options of the {title} and exit',
                )
        return self.groups[title]

    def add_to(self, title: str) -> Callable:
        """Return the `add_argument` of a group."""
        return self.group(title).add_argument

    def format_help(self) -> str:
        """Return the help: what most people need; or a page, as --help-all or --help-input asks for it."""
        sections = {
            group.title: [action for action in group._group_actions if action.dest not in HELP]
            for group in self._action_groups
        }
        pages = [f'`{flag}`' for title, flag in PAGES.items() if title in sections]
        notes = [self.epilog]
        if self.page is None:
            every = chain.from_iterable(sections.values())
            common = [action for action in every if not isinstance(action.help, AdvancedHelp)]
            sections = {'most used arguments': common}
            notes.append(f'{", ".join(["`--help-all`", *pages])} show more options.')
        elif self.page:
            sections = {self.page: sections[self.page]}
            notes = [RUNNER_OPTIONS if self.page == 'runner' else None]
        else:
            sections = {title: actions for title, actions in sections.items() if title not in PAGES}
            if pages:
                notes.append(f'{" and ".join(pages)} list the options of {" and ".join(PAGES)}.')
            notes.append(COMMON_OPTIONS)
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, (), ())
        formatter.add_text(self.description)
        for title, actions in sections.items():
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        for note in notes:
            formatter.add_text(note)
        return formatter.format_help()

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Return the options, with those of mrjob as `passed`. Exits with 2 on wrong usage.

        Raises ValueError where the runner does not take an option, or cannot read the inputs, OSError where no
        temporary file can be written.
        """
        self.group('runner' if self.runs_jobs else '').add_argument(
            '--debug', action='store_true', help=AdvancedHelp('print a stack trace with an error')
        )
        if COMPLETING in os.environ:
            from mr_elm.cli.completion import offer

            offer(self)
        self.paths = {word.partition('=')[0]: getattr(word, 'path', '') for word in argv}
        self.set_defaults(passed=[])
        words = list(argv)
        if '--' in words:  # paths follow
            end = words.index('--')
            words[end:] = [os.path.join('.', path) if path.startswith('-') else path for path in words[end + 1 :]]
        flags = [word.partition('=')[0] for word in words if word.startswith('-') and word != STANDARD]
        own_flags = self._option_string_actions
        if self.runs_jobs and not set(flags) <= {*own_flags}:
            add_mrjob_options(self)
        for flag in flags:
            if flag == '-o' and flag not in own_flags:
                self.error('-o: expected --model, which names the file of a model')
            if flag.startswith('--') and flag not in own_flags:
                self.error(f'{self.prog} has no option {flag}{suggest(flag, own_flags)}')
        args = self.parse_intermixed_args(words)
        wanted = os.environ.get('TMPDIR')  # which Python leaves out without a word where nothing can be written to it
        try:
            tempfile.TemporaryFile(dir=wanted or None).close()
        except OSError as error:
            names = wanted or str(error.strerror).partition('[')[2].strip(']')
            raise OSError(
                f'expected a folder for temporary files, found none that can be written to ({names}): set TMPDIR to one'
            ) from None
        if self.runs_jobs:
            self.check_runner(args)
            make_engine(args.runner, tuple(args.passed)).prepare(args.inputs)
        return args

    def check_runner(self, args: argparse.Namespace) -> None:
        """Choose the runner where the user names none. Exits with 2 where it does not suit the inputs or options."""
        reads_standard = STANDARD in args.inputs
        if args.runner is None:
            args.runner = 'inline' if reads_standard else DEFAULT_ENGINE
            args.small = INLINE_BYTES
        if reads_standard:
            if not self.reads_standard:
                self.error(f'{STANDARD}: expected files, only predict, evaluate and pack read standard input')
            if len(args.inputs) > 1:
                self.error(f'{STANDARD}: expected standard input alone, found files beside it')
            if args.runner != 'inline':
                self.error(f'-r {args.runner}: expected files, standard input is read in process only')
        for name, runner in {'jobs': 'local', 'master': 'spark', 'partitions_of_rows': 'spark'}.items():
            value = getattr(args, name)
            if value is None:
                continue
            flag = f'--{name.replace("_", "-")}'
            if args.runner != runner:
                self.error(f'{flag}: expected -r {runner}, found -r {args.runner}')
            if runner == 'spark':
                args.passed += [flag, str(value)]

    def error(self, message: str) -> NoReturn:
        """Exit with 2; name the file of --config where an option that is wrong stands in one."""
        if invalid := INVALID.search(message):
            message += suggest(invalid[1], re.findall(r'[\w-]+', invalid[2]))
        paths = filter(None, map(self.paths.get, FLAG.findall(message)))
        super().error(': '.join([*set(paths), message]))


class HelpPage(argparse.Action):
    """Print a page of the help and exit."""

    def __call__(self, parser: Any, *_: object) -> None:
        """Print it."""
        parser.page = self.const or ''
        parser.print_help()
        parser.exit()


PAGES = {'input': '--help-input', 'runner': '--help-runner'}  # group of options that has a page of its own -> flag
HELP = (
    'help',
    'help_all',
    'help_input',
    'help_runner',
    'config',
    'log_file',
)  # what all commands have, as argparse calls it
RUNNER_OPTIONS = 'Any other runner option of mrjob may follow, such as -D mapreduce.job.maps=8.'
COMMON_OPTIONS = """All commands have --config FILE.toml, which reads options from a file, such as
hidden = 500 (the command line counts more), and --log-file FILE, which adds
what the command says on standard error to a file."""
NO_TASKS = re.compile(r'mapreduce\.job\.(maps|reduces)=(?!0*[1-9][0-9]*$)')
# options of mrjob that only tasks of a stage, or programs that are run by hand, have
NOT_FOR_USERS = (
    '-o',
    '--mapper',
    '--combiner',
    '--reducer',
    '--step-num',
    '--steps',
    '--spark',
    '--cat-output',
    '--no-cat-output',
    '--no-output',
    '--deprecated',
)


class Pass(argparse.Action):
    """Keep an option of mrjob and its values for the runner."""

    def __call__(self, parser: Any, namespace: Any, values: Any, flag: str | None = None) -> None:
        """Keep them. Exits with 2 where a property has no value, or a number of tasks is none."""
        if flag in ('-D', '--jobconf'):
            if '=' not in values[0]:
                parser.error(f'{flag}: expected a property NAME=VALUE, found {values[0]!r}')
            if NO_TASKS.match(values[0]):
                parser.error(f'{flag}: expected a whole number of tasks, at least 1, found {values[0]!r}')
        namespace.passed = [*namespace.passed, flag, *values]


def add_mrjob_options(parser: Parser) -> None:
    """Add the runner options of mrjob that the command does not have itself."""
    from mrjob.job import MRJob  # its import takes as long as numpy's

    for flag, action in MRJob(args=[]).arg_parser._option_string_actions.items():
        if flag not in NOT_FOR_USERS and flag not in parser._option_string_actions:
            n_values = 1 if action.nargs is None else action.nargs
            parser.add_argument(flag, action=Pass, nargs=n_values, dest='passed', help=argparse.SUPPRESS)


def add_input_options(parser: Parser, *names: str, reads_standard: bool = False, n_inputs: str = '+') -> None:
    """Add the inputs and the options that say how they are written.

    names : of other options of rows, see `add_row_options`. reads_standard : whether `-` may be the input.
    n_inputs : * where there need be none.
    """
    parser.reads_standard = reads_standard
    parser.add_argument(
        'inputs',
        nargs=n_inputs,
        metavar='INPUT',
        help='files, folders or globs; .gz and .bz2 too' + ('; - for standard input' if reads_standard else ''),
    )
    add_row_options(parser.add_to, *names)


@contextmanager
def copy_standard_input(inputs: Sequence[str]) -> Iterator[Sequence[str | Entry]]:
    """Give the inputs of a job; standard input is copied to a file first, since a job reads rows more than once."""
    if list(inputs) != [STANDARD]:
        yield inputs
        return
    with tempfile.NamedTemporaryFile(prefix=temporary_prefix()) as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream, COPY_BYTES)
        stream.flush()
        yield [Entry('standard input', False, stream.tell(), copy=stream.name)]


def demand_targets(parser: Parser, args: argparse.Namespace, is_regression: bool) -> None:
    """Exit with status 2 where --targets or --labels-separator contradict other options."""
    if args.targets and not is_regression:
        parser.error(
            '--targets: expected --task regression; several labels of a row stand in one column, see --labels-separator'
        )
    if args.targets and args.label_column is not None:
        parser.error('--targets: expected --targets or --label-column, found both')
    if args.labels_separator is not None and is_regression:
        parser.error('--labels-separator: cannot be used with --task regression, see --targets')


def demand_regression(parser: Parser, args: argparse.Namespace, is_regression: bool) -> None:
    """Exit with status 2 where --target stands beside a classification."""
    if args.target != 'none' and not is_regression:
        parser.error('--target: expected --task regression too')


def add_runner_options(parser: Parser) -> None:
    """Add where to run and how loud."""
    group = parser.group('runner')
    group.add_argument(
        '-r',
        '--runner',
        choices=tuple(ENGINES),
        metavar='NAME',
        help='local (all cores), inline (one), hadoop, spark or emr (default: local, or inline for less than '
        f'{INLINE_BYTES / 1e6:.0f} MB)',
    )
    group.set_defaults(small=0)
    add_options(parser.add_to, RunnerOptions)
    python = group.add_mutually_exclusive_group()
    python.add_argument(
        '--python',
        metavar='PATH',
        help=AdvancedHelp(
            'hadoop, emr, spark: the Python of the nodes, which has the packages that docs/hadoop.md lists'
        ),
    )
    python.add_argument(
        '--bundle',
        metavar='ARCHIVE',
        help=AdvancedHelp(
            'hadoop, emr, spark: an archive of `mr-elm bundle`, which has all that tasks need except Python'
        ),
    )
    add_quiet_option(group)
    group.add_argument(
        '-v', '--verbose', action='store_true', help=AdvancedHelp('print the logs of mrjob, Hadoop and Spark too')
    )


def add_quiet_option(parser: Any) -> None:
    """Add how loud a command is."""
    parser.add_argument('-q', '--quiet', action='store_true', help='print no progress')


def add_resume_option(parser: Parser) -> None:
    """Add going on with a run that was cut short."""
    parser.add_argument(
        '--resume',
        action='store_true',
        help=AdvancedHelp(
            'hadoop, emr, spark on a cluster: continue a run that did not finish, without running finished jobs again; '
            'the file OUTPUT.work, beside the output, names their folder'
        ),
    )


def plan_rows(
    args: argparse.Namespace, options: RowOptions, inputs: Sequence[str | Entry] | None = None
) -> 'InputPlan':
    """Plan the input of a command, and say how its files are read. inputs : other files than those of `args`."""
    from mr_elm.rows.inputs import describe_inputs, plan_inputs

    plan = plan_inputs(args.inputs if inputs is None else inputs, options)
    if said := describe_inputs(plan):
        Reporter(args.quiet).say(said)
    return plan


def choose_engine(args: argparse.Namespace, output: str | None = None) -> 'Engine':
    """Make the engine that the user asked for; `output` is what it makes, where that can be resumed."""
    if args.verbose:
        logging.basicConfig(stream=sys.stderr, level=logging.INFO, format='%(message)s')
    if output is not None and is_stream(output):
        output = None
    reporter = Reporter(args.quiet)
    LogLines(reporter).listen()
    if args.runner != 'local':
        known = {}
    else:
        known = {'jobs': args.jobs, 'small': args.small, 'memory': getattr(args, 'memory', None)}
    return make_engine(
        args.runner,
        args.passed,
        reporter,
        python=args.python,
        bundle=args.bundle,
        output=output,
        resume=getattr(args, 'resume', False),
        **known,
    )


def read_options(
    parser: Parser, kind: Any, args: argparse.Namespace, only: Container[str] | None = None, **known: Any
) -> Any:
    """Make the options that the user asked for. Exits with status 2 when they contradict each other.

    only : as in `add_options`. known : other fields of the dataclass.
    """
    given = {name: getattr(args, name) for name in option_fields(kind) if only is None or name in only}
    options = kind(**given, **known)
    try:
        options.check()
    except ValueError as error:
        parser.error(str(error))
    return options
