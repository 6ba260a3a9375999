"""mr-elm train --script, layer and finish: a training whose stages, programs of their own, are run by hand.

`mr-elm layer` writes the files that the next stage needs, and how this is run: its noun to MODELNAME.next and its
words to MODELNAME.options. `mr-elm finish` writes the model.
"""

import argparse
import csv
import io
import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mr_elm.cli import list_methods
from mr_elm.cli.options import Parser, add_quiet_option
from mr_elm.cli.output import Output
from mr_elm.cli.train import Training, read_training
from mr_elm.engines.replay import Replay, StageWanted
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.option import option_fields
from mr_elm.progress import Reporter
from mr_elm.rows.inputs import InputPlan, demand_unchanged, plan_inputs
from mr_elm.rows.options import OF_ENCODING, RowOptions
from mr_elm.rows.storage import store_of
from mr_elm.store import read_json, replace_file

FORMAT = {'format': 'mr_elm-training', 'version': 1}
# what a run of jobs may be given, but not stages that are run one by one
TRAIN_ONLY = {
    'bundle': '--bundle',
    'resume': '--resume',
    'ledger': '--ledger',
    'part_by': '--part-by',
    'test': '--test',
    'json': '--json',
}
WORDS = {None: 'space', '\t': 'tab', True: 'yes', False: 'no'}  # value of --delimiter or --header -> as it is typed
SCRIPT = """#!/bin/sh
# What `mr-elm train` does, stage by stage.
set -e
# read the first lines of the inputs, write what the first stage needs
{first}
# run a stage, and write what the next one needs, until there is none
set --
while noun=$(cat {name}.next); [ "$noun" != finish ]; do
    output={name}.$noun.$(($# + 1))
    eval "python -m mr_elm.streaming.mr_$noun $(cat {name}.options)" > "$output"
    set -- "$@" "$output"
    mr-elm layer {name}.training.json "$@"
done
# solve, and write the model
mr-elm finish {name}.training.json "$@"
"""


def print_script(training: Training) -> None:
    """Print a shell script that trains stage by stage; all its files begin with the name of the model."""
    demand_stages(training)
    plan_inputs(training.args.inputs, training.rows)
    words = [word for word in training.words if word != '--script']
    first = shlex.join(['mr-elm', 'layer', *words])
    print(SCRIPT.format(first=first, name=shlex.quote(name_of(training.args))), end='')


def layer(words: Sequence[str]) -> None:
    """Write what the next stage needs: the first one of the training that is named, or that behind some outputs."""
    if words and words[0] in list_methods('train'):
        training = read_training(words)
        demand_stages(training)
        if any(path.endswith('.stats.json') for path in training.args.inputs):
            from mr_elm.cli.federate import write_layer

            write_layer(training)
        else:
            begin(training)
    else:
        leave_next(
            *resume(
                'layer', 'Write the files that the next stage of a training needs, for example the hidden nodes.', words
            )
        )


def finish(words: Sequence[str]) -> None:
    """Write the model, from the outputs of all stages."""
    training, plan, outputs = resume(
        'finish', 'Solve for the model of a training whose stages have all been run, and write it.', words
    )
    output = Output(training.args)
    replay = make_replay(training, plan, outputs)
    output.demand_free()
    output.keep(replay, *drive(training, plan, replay))


def begin(training: Training) -> None:
    """Plan the inputs of a training, keep what it is in MODELNAME.training.json, and prepare its first stage."""
    Output(training.args).demand_free()
    plan = plan_inputs(training.args.inputs, training.rows)
    with replace_file(f'{name_of(training.args)}.training.json') as stream:
        stream.write(json.dumps({**FORMAT, 'words': training.words, 'plan': plan.to_json()}, indent=1).encode())
    leave_next(training, plan, ())


def resume(command: str, description: str, words: Sequence[str]) -> tuple[Training, InputPlan, tuple[str, ...]]:
    """Read the words of a command that goes on with a training: the training, its plan and its outputs so far."""
    parser = Parser(command, description, runs_jobs=False)
    parser.add_argument('training', metavar='MODELNAME.training.json', help='written by `mr-elm layer METHOD ...`')
    parser.add_argument(
        'inputs', nargs='*', metavar='OUTPUT', help='the outputs of all stages so far, in the order of the stages'
    )
    add_quiet_option(parser)
    args = parser.parse(words)
    record = read_record(args.training)
    plan = InputPlan.from_json(record['plan'])
    demand_unchanged(replace(plan, files=[file for file in plan.files if store_of(file.path).find(file.path)]))
    training = read_training(record['words'])
    training.args.quiet |= args.quiet
    return training, plan, tuple(args.inputs)


def read_record(path: str) -> dict[str, Any]:
    """Read what `begin` wrote. Raises DataFormatError when the file is something else."""
    try:
        record = read_json(path)
        if {**record, **FORMAT} != record or not {'words', 'plan'} <= set(record):
            raise ValueError('another format or version')
    except (ValueError, TypeError) as error:
        raise DataFormatError(f'{path}: expected a file of `mr-elm layer METHOD ...` ({error})') from None
    return record


def leave_next(training: Training, plan: InputPlan, outputs: tuple[str, ...]) -> None:
    """Leave the files of the next stage, and how it is run; `finish` stands in MODELNAME.next when there is none."""
    replay = make_replay(training, plan, outputs)
    noun = 'finish'
    words = ''
    try:
        drive(training, plan, replay)
    except StageWanted as wanted:
        noun = wanted.noun
        words = shlex.join([*wanted.words, *list_runner_words(training)])
    for name, text in ('next', noun), ('options', words):
        Path(f'{name_of(training.args)}.{name}').write_text(f'{text}\n')
    replay.reporter.say(
        'next: mr-elm finish' if noun == 'finish' else f'next: python -m mr_elm.streaming.mr_{noun} {words}'
    )


def make_replay(training: Training, plan: InputPlan, outputs: tuple[str, ...]) -> Replay:
    """Make the engine that takes the outputs for those of its own jobs."""
    return Replay(
        reporter=Reporter(training.args.quiet),
        outputs=outputs,
        prefix=name_of(training.args),
        rows=tuple(file.path for file in plan.files),
        row_words=(*list_row_words(training), *training.args.inputs),
    )


def drive(training: Training, plan: InputPlan, replay: Replay) -> tuple:
    """Return what the driver makes of the outputs. Raises AccountingError when one lacks lines, or is one too many."""
    try:
        made = training.driver(plan, training.options, replay)
    except (KeyError, IndexError, AccountingError) as error:
        if not replay.taken:
            raise
        demand_no_new_file(training, plan)
        if isinstance(error, AccountingError):
            raise
        raise AccountingError(
            f'{replay.taken[-1]}: expected the whole output of a stage over the rows of the first stage, lines are '
            'missing: run all stages again'
        ) from error
    n_taken = len(replay.taken)
    if n_taken < len(replay.outputs):
        raise AccountingError(f'{replay.outputs[n_taken]}: expected outputs of {n_taken} stages, found this one too')
    return made


def demand_no_new_file(training: Training, plan: InputPlan) -> None:
    """Raise DataFormatError where a folder of rows has gained a file since the training began."""
    found = {file.path for file in plan_inputs(training.args.inputs, training.rows).files}
    new = found - {file.path for file in plan.files}
    if new:
        raise DataFormatError(
            f'{min(new)}: expected only files that were there when the training began, this one is new: run all '
            'stages again, with it or without it'
        )


def list_row_words(training: Training) -> list[str]:
    """List the options of a stage that say how the rows are written, but for the defaults."""
    words = [
        f'{each.flag}={write_option(value)}'
        for name, each in option_fields(RowOptions).items()
        if name not in OF_ENCODING and (value := getattr(training.rows, name)) != each.default
    ]
    if training.rows.numeric_labels:
        words.append('--task=regression')
    return words


def write_option(value: Any) -> Any:
    """Write the value of an option of rows as a command line has it."""
    if not isinstance(value, tuple):
        return WORDS.get(value, value)
    text = io.StringIO()
    csv.writer(text, lineterminator='').writerow(value)
    return text.getvalue()


def list_runner_words(training: Training) -> list[str]:
    """List the options of a stage that say where and how it runs."""
    args = training.args
    words = list(args.passed)
    if not args.small and args.runner != 'inline':
        words += ['-r', args.runner]
        if args.jobs:
            words += ['--num-cores', str(args.jobs)]
    if args.python:
        words += ['--task-python-bin', args.python]
    if args.quiet:
        words.append('-q')
    return words


def demand_stages(training: Training) -> None:
    """Raise ValueError when an option makes no sense for stages that are run one by one."""
    args = training.args
    asked = {flag: getattr(args, name, None) for name, flag in TRAIN_ONLY.items()} | {
        'auto': training.words[0] == 'auto',
        '--target auto': args.target == 'auto',
        '--output-dir': any(word.startswith('--output-dir') for word in args.passed),
    }
    for flag, is_asked in asked.items():
        if is_asked:
            raise ValueError(f'{flag}: cannot be used with --script or `mr-elm layer`, whose stages run one by one')


def name_of(args: argparse.Namespace) -> str:
    """Return what the names of all files of a training by hand begin with."""
    return os.path.basename(args.model).removesuffix('.npz')
