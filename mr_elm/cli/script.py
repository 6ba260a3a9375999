"""mr-elm train ... --script: print a training as a shell script of stages, programs that a user can run by hand."""
import argparse
import csv
import io
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any

from mr_elm.cli.steps import demand_other_names, name_of
from mr_elm.machines.kernel import settle
from mr_elm.machines.options import PASSES, DualOptions, KELMOptions, PESVMOptions
from mr_elm.machines.passes import choose_solver
from mr_elm.methods import DUAL, GRAM, KELM, METHODS
from mr_elm.rows.inputs import InputPlan, plan_inputs
from mr_elm.rows.options import RowOptions, add_row_arguments, add_target_arguments

ROW_OPTIONS: dict[str, tuple[str, Any]] = {}  # flag -> (name of the argument, default)


def note_option(flag: str, dest: str | None = None, default: Any = None, **_: object) -> None:
    """Note an option that says how rows are written."""
    ROW_OPTIONS[flag] = dest or flag.lstrip('-').replace('-', '_'), default


add_row_arguments(note_option)
add_target_arguments(note_option)
# what a run of jobs may be given, but not stages that are run one by one
TRAIN_ONLY = {'bundle': '--bundle', 'trace': '--trace', 'resume': '--resume'}
DELIMITERS = {None: 'space', '\t': 'tab'}
LOOP = """set -- {outputs}
{layer} "$@"
while noun=$(cat {next}); {wanted}; do
    output={prefix}.$noun.$#
    case $noun in
{cases}
    esac > "$output"
    set -- "$@" "$output"
    {layer} "$@"
done
"""


def print_script(words: Sequence[str], options: Any, args: argparse.Namespace, passed: tuple[str, ...],
                 **known: Any) -> None:
    """Print the script of a training. words : those of the training, the method first."""
    if clash := [option for name, option in TRAIN_ONLY.items() if getattr(args, name)]:
        raise ValueError(f'{clash[0]}: cannot be used with --script, whose stages run one by one')
    if any(word.partition('=')[0] == '--output-dir' for word in passed):
        raise ValueError('--output-dir: cannot be used with --script, each stage writes one file')
    plan = plan_inputs(args.inputs, RowOptions.of_arguments(args, **known))
    demand_other_names(plan, name_of(args))
    script = Script(words, args, passed, known)
    STAGES[METHODS[words[0]].driver](script, plan, options)
    print(script.text(), end='')


class Script:
    """Write a shell script stage by stage; all its files are in the working directory and begin with the model's name.

    words : those of `mr-elm train`. args, passed : what they mean, and mrjob's options among them.
    known : RowOptions that the training knows without being asked, as of a model that it is like.
    """

    def __init__(self, words: Sequence[str], args: argparse.Namespace, passed: tuple[str, ...],
                 known: dict[str, Any]) -> None:
        self.words = [word for word in words if word != '--script']
        self.args = args
        self.prefix, self.known = name_of(args), known
        self.where = [] if args.small or args.runner == 'inline' else ['-r', args.runner]
        self.where += ['--num-cores', str(args.jobs)] if args.jobs and self.where else []
        self.where += ['-q'] if args.quiet else []
        self.where += [*passed, *(['--task-python-bin', args.python] if args.python else [])]
        self.encodes = False
        self.outputs: list[str] = []
        self.added: set[str] = set()
        self.lines: list[str] = []

    def name(self, suffix: str) -> str:
        """Return the quoted name of a file of the script."""
        return shlex.quote(f'{self.prefix}.{suffix}')

    @property
    def layer(self) -> str:
        """Return the command that writes what the next stage needs."""
        return f'mr-elm layer {self.name("training.json")}'

    def program(self, noun: str, words: Sequence[object], inputs: str | None = None) -> str:
        """Return the command that runs a stage over the rows, or over a file of the script."""
        encoded = self.files(column_encoding='json') if self.encodes and noun != 'values' else []
        of_rows = [*self.row_words(), *encoded, *self.where, *self.args.inputs]
        rows = of_rows if inputs is None else [*self.where, inputs]
        return shlex.join(['python', '-m', f'mr_elm.streaming.mr_{noun}', *map(str, words), *rows])

    def files(self, **suffixes: str) -> list[str]:
        """Return options that name files of the script: files(layer='npz') is --layer PREFIX.layer.npz."""
        return [word for option, suffix in suffixes.items() for word in
                (f'--{option.replace("_", "-")}', f'{self.prefix}.{option.replace("_", "-")}.{suffix}')]

    def row_words(self) -> list[str]:
        """Return the options that say how the rows are written, but for the defaults."""
        words = []
        for flag, (name, default) in ROW_OPTIONS.items():
            value = getattr(self.args, name)
            if name in ('n_features', 'missing_labels'):
                value = self.known.get(name, value)
            if value != default:
                words.append(f'{flag}={write_option(value)}')
        return [*words, '--task=regression'] if self.known['numeric_labels'] else words

    def add(self, comment: str, noun: str, words: Sequence[object], inputs: str | None = None) -> None:
        """Add a stage, and let its output lead to the files of the next one."""
        output = self.name(f'again.{noun}' if noun in self.added else noun)
        self.added.add(noun)
        if self.outputs:
            self.lines.append(f'{self.layer} {" ".join(self.outputs)}')
        self.lines.append(f'# {comment}\n{self.program(noun, words, inputs)} > {output}')
        self.outputs.append(output)

    def loop(self, comment: str, *stages: tuple[str, Sequence[object]]) -> None:
        """Add stages, each (noun, options), of which one runs after the other until none of them is needed."""
        self.lines.append(f'# {comment}\n' + LOOP.format(
            outputs=' '.join(self.outputs), layer=self.layer, next=self.name('next'), prefix=shlex.quote(self.prefix),
            wanted=' || '.join(f'[ "$noun" = {noun} ]' for noun, _ in stages),
            cases='\n'.join(f'    {noun}) {self.program(noun, words)} ;;' for noun, words in stages)).rstrip())
        self.outputs = ['"$@"']

    def text(self) -> str:
        """Return the script."""
        first = shlex.join(['mr-elm', 'layer', *self.words])
        last = f'mr-elm finish {self.name("training.json")} {" ".join(self.outputs)}'
        return '\n'.join(['#!/bin/sh', '# What `mr-elm train` does, stage by stage.', 'set -e',
                          '# read the first lines of the inputs, write what the first stage needs', first, *self.lines,
                          '# solve, and write the model', last, ''])


def write_option(value: Any) -> Any:
    """Write the value of an option of rows as a command line has it."""
    if not isinstance(value, tuple):
        return DELIMITERS.get(value, value)
    text = io.StringIO()
    csv.writer(text, lineterminator='').writerow(value)
    return text.getvalue()


def add_statistics(script: Script, plan: InputPlan, seed: int = 0, **wanted: int) -> None:
    """Add the statistics of the rows. A pack knows them but for rows that are wanted: landmarks, or a sample."""
    if plan.needs_encoding:
        script.add('count the values of each column', 'values', [])
        script.encodes = True
    words = [word for name, n in wanted.items() if n for word in (f'--{name}', n)]
    if not plan.pack or words:
        words += ['--seed', seed] if words else []
        script.add('compute statistics of the columns and labels', 'stats', words)


def add_gram_stages(script: Script, plan: InputPlan, options: PESVMOptions) -> None:
    """Add the stages of PESVM and the unified ELM. Raises ValueError for an infinite C, which takes the rows."""
    if options.nu == float('inf'):
        raise ValueError('--script: expected a finite --C, the initial ELM takes the rows and no sums of them')
    n_landmarks, n_sampled = (options.n_landmarks, options.n_sampled) if script.args.like is None else (0, 0)
    add_statistics(script, plan, options.seed, landmarks=n_landmarks, sample=n_sampled)
    if options.learns_from_all_rows:
        script.loop("learn the metric: sum up E'E and the slopes of the nodes, a job a step",
                    ('folds', script.files(problem='npz')))
        if options.holds_out:
            add_scores(script, model_sums='npz')
        return
    layer = script.files(layer='npz', grid='json', class_weights='json')
    if not takes_passes(plan, options):
        tree = ['--fan-in', script.args.fan_in] if script.args.fan_in else []
        script.add("sum up E'E in tiles, and the class sums", 'gram', [*layer, *tree])
        if options.holds_out:
            add_scores(script, model_sums='npz')
        return
    script.add('take a sample of the rows', 'place', script.files(problem='npz'))
    if options.holds_out:
        add_passes(script, ' of the rows that are not held out', [*layer, *script.files(folds='json')])
        add_scores(script)
    add_passes(script, '', layer)


def add_passes(script: Script, which: str, words: list[str]) -> None:
    """Add the stages of conjugate gradients. which : of which rows, if not of all. words : their options."""
    script.loop(f"sum up E'T, and compute products of E'E with vectors{which}",
                ('pass', [*words, *script.files(vectors='npz')]))


def takes_passes(plan: InputPlan, options: PESVMOptions) -> bool:
    """Tell whether a training goes by passes. Raises ValueError where that takes the number of rows."""
    few, many = (choose_solver(options, n_rows, options.n_hidden)[0] for n_rows in (
        (plan.manifest['n_rows'],) * 2 if plan.manifest else (0, sys.maxsize)))
    if few != many:
        raise ValueError('--script: expected --solver for rows of text: the choice depends on the number of rows, '
                         'which only a pack knows')
    return many == PASSES


def add_scores(script: Script, **sums: str) -> None:
    """Add the stage to whose output probabilities or intervals are fitted. sums : the option for those of the model."""
    script.add('score a sample of the rows by models that have not seen them', 'scores',
               script.files(model='npz', **sums, sample='json'))


def add_dual_stages(script: Script, plan: InputPlan, options: DualOptions) -> None:
    """Add the stages of the dual methods."""
    add_statistics(script, plan, options.seed, sample=options.n_sampled)
    script.add('train one two-class machine in each reducer', 'dual', script.files(problem='npz'))
    if options.partitions > 1:
        script.loop('check all rows, add those that violate optimality, train again: in mr-elm layer, or in mr_dual',
                    ('check', script.files(problem='npz', model='npz', working='npz')),
                    ('dual', script.files(problem='npz', working='npz')))
    if options.probabilities:
        script.add('train the machines without each fold of the rows', 'dual_folds', script.files(problem='npz'))
        add_scores(script)


def add_kernel_stages(script: Script, plan: InputPlan, options: KELMOptions) -> None:
    """Add the stages of the kernel ELM."""
    add_statistics(script, plan, options.seed, sample=options.n_sampled)
    script.add('scale the rows', 'place', script.files(problem='npz'))
    options = choose_kernel_solver(plan, options)
    by_passes = options.solver == 'cg' or options.solver == 'svd' and options.rank
    if not by_passes and options.emit == 'rows':
        script.add('compute the kernel matrix, in tiles', 'kernel_rows', script.files(rows='npz', starts='json'))
    elif not by_passes:
        script.add('turn the scaled rows into columns', 'columns', script.files(problem='npz'))
        script.add('Algorithm 1: compute the kernel matrix from columns', 'kernel',
                   ['--emit', options.emit, *script.files(kernel='json')], f'{script.prefix}.columns')
    product = 'product', script.files(rows='npz', vectors='npz')
    if by_passes:
        script.loop('compute products of the kernel matrix with vectors', product)
    if options.solver == 'svd':
        emit = 'entries' if options.emit == 'entries' else 'blocks'
        script.add("Algorithm 2: U'T and V S^-1", 'matvec', ['--emit', emit, *script.files(factors='npz')],
                   f'{script.prefix}.factors')
        if options.rank:
            script.loop('the residual', product)


def choose_kernel_solver(plan: InputPlan, options: KELMOptions) -> KELMOptions:
    """Return the options with solver and emission chosen. Raises ValueError where that takes the number of rows."""
    if plan.manifest:
        return settle(plan.name, options, plan.manifest['n_rows'], plan.manifest['n_features'])
    if options.solver is None or options.emit is None and options.solver != 'cg' and not options.rank:
        raise ValueError('--script: expected --solver, and --emit unless it is cg, for rows of text: the choice '
                         'depends on the number of rows, which only a pack knows')
    return options


STAGES: dict[str, Callable[..., None]] = {GRAM: add_gram_stages, DUAL: add_dual_stages, KELM: add_kernel_stages}
