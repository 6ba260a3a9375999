"""mr-elm layer and finish: the steps of a training between its stages, when these are run by hand."""
import argparse
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mr_elm.cli.methods import run_method
from mr_elm.cli.options import Parser, add_debug_option, add_quiet_option
from mr_elm.cli.train import LINES, read_training
from mr_elm.cli.training import output_of
from mr_elm.engines.progress import Reporter
from mr_elm.engines.replay import Replay, StageWanted
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.methods import METHODS
from mr_elm.rows.inputs import InputPlan, demand_unchanged, plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.storage import store_of
from mr_elm.store import replace_file

LAYER = 'Write the files that the next stage of a training needs, for example the hidden nodes.'
FINISH = 'Solve for the model of a training whose stages have all been run, and write it.'
Driver = Callable[..., tuple]  # (plan, options, engine) -> (Model, accounts)
FORMAT = 'mr_elm-training'


def layer(argv: Sequence[str]) -> int | None:
    """Write what the next stage needs, and its name to MODELNAME.next."""
    if argv[:1] and not argv[0].startswith('-') and argv[0] not in LINES and not argv[0].endswith('.json'):
        raise ValueError(f'expected one of {", ".join(LINES)}, or a file MODELNAME.training.json, found {argv[0]!r}')
    if argv[:1] and argv[0] in LINES:
        return run_method(argv, 'layer', partial(read_training, partial(begin, argv)), LINES)
    args = step_parser('layer', LAYER).parse(argv)[0]
    return resume(args, leave_next)


def finish(argv: Sequence[str]) -> int | None:
    """Write the model, from the outputs of all stages."""
    args = step_parser('finish', FINISH).parse(argv)[0]
    return resume(args, write_model)


def step_parser(command: str, description: str) -> Parser:
    """Make the parser of a step."""
    parser = Parser(command, description, runs_jobs=False)
    parser.add_argument('training', metavar='MODELNAME.training.json', help='written by `mr-elm layer METHOD ...`')
    parser.add_argument('inputs', nargs='*', metavar='OUTPUT',
                        help='the outputs of all stages so far, in the order of the stages')
    add_quiet_option(parser)
    add_debug_option(parser)
    return parser


def begin(words: Sequence[str], driver: Driver, options: Any, args: argparse.Namespace, passed: tuple[str, ...],
          **known: Any) -> None:
    """Plan the inputs of a training, keep what it is in MODELNAME.training.json, and prepare its first stage."""
    if METHODS[words[0]].auto and args.auto:
        raise ValueError('--auto: cannot be used here, its stages depend on the rows')
    output_of(args).demand_free()
    plan = plan_inputs(args.inputs, RowOptions.of_arguments(args, **known))
    demand_other_names(plan, name_of(args))
    record = {'format': FORMAT, 'version': 1, 'words': words, 'plan': plan.to_record()}
    with replace_file(f'{name_of(args)}.training.json') as stream:
        stream.write(json.dumps(record, indent=1).encode())
    leave_next(driver, options, args, plan, ())


def resume(given: argparse.Namespace, step: Callable[..., None]) -> int | None:
    """Go through a training up to the outputs that were given, then take a step."""
    record = read_record(given.training)
    plan = InputPlan.from_record(record['plan'])
    demand_unchanged(replace(plan, files=[file for file in plan.files if store_of(file.path).find(file.path)]))

    def perform(driver: Driver, options: Any, args: argparse.Namespace, passed: tuple[str, ...], **known: Any) -> None:
        args.quiet |= given.quiet
        step(driver, options, args, plan, tuple(given.inputs))
    return run_method(record['words'], 'layer', partial(read_training, perform), LINES)


def read_record(path: str) -> dict[str, Any]:
    """Read what `begin` wrote. Raises DataFormatError when the file is something else."""
    try:
        with open(path) as stream:
            record = json.load(stream)
        if record['format'] != FORMAT or record['version'] != 1:
            raise ValueError('another format or version')
        if missing := {'words', 'plan'} - set(record):
            raise ValueError(f'without {", ".join(sorted(missing))}')
    except IsADirectoryError:
        raise DataFormatError(f'{path}: expected a file of `mr-elm layer METHOD ...`, found a folder') from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataFormatError(f'{path}: expected a file of `mr-elm layer METHOD ...` ({error})') from None
    return record


def leave_next(driver: Driver, options: Any, args: argparse.Namespace, plan: InputPlan,
               outputs: tuple[str, ...]) -> None:
    """Leave the files of the next stage, and its name in MODELNAME.next: `finish` when there is none."""
    replay, noun = make_replay(args, plan, outputs), 'finish'
    try:
        replay_driver(driver, plan, options, replay)
    except StageWanted as wanted:
        noun = wanted.noun
    with open(f'{name_of(args)}.next', 'w') as stream:
        stream.write(f'{noun}\n')
    replay.reporter.say('next: mr-elm finish' if noun == 'finish' else f'next: mr_{noun}')


def write_model(driver: Driver, options: Any, args: argparse.Namespace, plan: InputPlan,
                outputs: tuple[str, ...]) -> None:
    """Write the model."""
    output = output_of(args)
    output.demand_free()
    replay = make_replay(args, plan, outputs)
    output.keep(replay, *replay_driver(driver, plan, options, replay))


def replay_driver(driver: Driver, plan: InputPlan, options: Any, replay: Replay) -> tuple:
    """Return what a driver makes of the outputs. Raises AccountingError when one lacks lines, or is one too many."""
    try:
        made = driver(plan, options, replay)
    except (KeyError, IndexError) as error:
        if not replay.taken:
            raise
        raise AccountingError(f'{replay.taken[-1]}: expected the whole output of a stage, lines are missing '
                              f'({error})') from error
    replay.demand_all_taken()
    return made


def demand_other_names(plan: InputPlan, prefix: str) -> None:
    """Raise ValueError when an input has a name that the files of a training by hand may take."""
    for file in plan.files:
        folder, name = os.path.split(file.path)
        if name.startswith(f'{prefix}.') and folder == os.getcwd():
            raise ValueError(f'{file.path}: the training writes files whose names begin with {prefix}., and so does '
                             'the name of this input: give the model another name')


def make_replay(args: argparse.Namespace, plan: InputPlan, outputs: tuple[str, ...]) -> Replay:
    """Make the Replay of a training."""
    rows = tuple(file.path for file in plan.files)
    return Replay(reporter=Reporter(args.quiet), outputs=outputs, prefix=name_of(args), rows=rows)


def name_of(args: argparse.Namespace) -> str:
    """Return what the names of all files of a training by hand begin with."""
    return os.path.basename(args.model).removesuffix('.npz')
