"""A stage alone: what it takes, what it says of itself, and what it writes."""

import gc
import inspect
import io
import json
import re
import subprocess
import sys
import weakref
from collections import defaultdict
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from reference.by_hand import run_stage

from mr_elm.engines import make_engine
from mr_elm.engines.by_hand import main
from mr_elm.engines.local import Local, Reduced
from mr_elm.engines.mrjob_runner import MRJobRunner
from mr_elm.engines.replay import noun_of
from mr_elm.passes.data_set import JobOutput
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputPlan
from mr_elm.streaming import mr_stats
from mr_elm.streaming.mr_pack import MRPack
from mr_elm.streaming.mr_stats import MRStats

STAGES = (
    'check',
    'columns',
    'dual',
    'dual_folds',
    'evaluate',
    'folds',
    'gram',
    'grid',
    'hits',
    'kernel',
    'kernel_rows',
    'leave_one_out',
    'ledger',
    'matvec',
    'pack',
    'pass',
    'place',
    'predict',
    'product',
    'scores',
    'stats',
)
NEED_NOTHING = 'pack', 'stats'

# commands that together make every stage write every kind of record that it can write
COMMANDS = [
    ['train', 'pesvm', 'rows.csv', '--hidden', '5', '--ledger', 'm.ledger', '--model', 'm.npz'],
    ['train', 'pesvm', 'rows.csv', '--hidden', '5', '--part-by', 'file', '--model', 'files.npz'],
    [
        'train',
        'pesvm',
        'weighted.csv',
        '--task',
        'regression',
        '--weight-column',
        '3',
        '--intervals',
        '--model',
        'r.npz',
    ],
    ['train', 'elm', 'packed', '--hidden', '5', '--metric', 'full', '--model', 'a.npz'],
    ['train', 'elm', 'packed', '--map', 'nystrom', '--hidden', '5', '--metric', 'full', '--model', 'n.npz'],
    [
        'train',
        'pesvm',
        'weighted.csv',
        '--task',
        'regression',
        '--weight-column',
        '3',
        '--solver',
        'passes',
        '--model',
        'rp.npz',
    ],
    ['train', 'pesvm', 'packed', '--hidden', '5', '--solver', 'passes', '--model', 'cp.npz'],
    ['train', 'sparse-elm', 'packed', '--sigma', '2', '--C', '10', '--partitions', '2', '--model', 'parts.npz'],
    ['train', 'oelm', 'packed', '--kernel', 'sigmoid', '--hidden', '5', '--probabilities', '--model', 'nodes.npz'],
    *(
        ['train', 'mr-kelm', 'packed', '--solver', 'svd', '--emit', emit, '--model', f'{emit}.npz']
        for emit in ('rows', 'entries')
    ),
    ['train', 'mr-kelm', 'packed', '--solver', 'cg', '--rank', '20', '--model', 'cg.npz'],
    [
        'train',
        'mr-kelm',
        'packed',
        '--emit',
        'entries',
        '--model',
        'columns.npz',
        '--output-dir',
        'out',
    ],
    ['tune', 'pesvm', 'rows.csv', '--map', 'tanh', '--hidden', '5', '--nu', '1,10', '--folds', '2'],
    ['train', 'pesvm', 'sets.csv', '--labels-separator', ';', '--hidden', '5', '--model', 'sets.npz'],
    ['evaluate', 'sets.npz', 'sets.csv'],
    ['tune', 'sparse-elm', 'rows.csv', '--sigma', '1,2', '--C', '1', '--folds', '2'],
    ['tune', 'mr-kelm', 'rows.csv', '--sigma', '1,2', '--C', '1'],
    ['evaluate', 'm.npz', 'rows.csv'],
    ['evaluate', 'r.npz', 'weighted.csv'],
    ['evaluate', 'nodes.npz', 'packed'],
    ['predict', 'm.npz', 'rows.csv', '-o', 'labels'],
]


def class_of(noun):
    """Return the class of a stage."""
    return next(
        kind
        for kind in vars(import_module(f'mr_elm.streaming.mr_{noun}')).values()
        if isinstance(kind, type) and kind.__module__.endswith(f'.mr_{noun}') and kind.__name__.startswith('MR')
    )


def documented_kinds(noun):
    """Return the kinds of keys that the docstring of a stage names as its output."""
    outputs = inspect.getdoc(class_of(noun)).partition('Output:')[2].partition('\nMap:')[0]
    return set(re.findall(r'<([a-z_-]+)[ ,]', outputs))


def kinds_of(paths):
    """Return the first words of the lines of some files that have a tab."""
    lines = chain.from_iterable(Path(path).read_bytes().splitlines() for path in paths)
    return {line.partition(b'\t')[0].split(b' ')[0].decode() for line in lines if b'\t' in line}


def watch_outputs(monkeypatch):
    """Return a dictionary that gains, as jobs run, the kinds of keys in the output of each stage."""
    written, parts, pairs_of_reducers = defaultdict(set), JobOutput.parts, Reduced.all_pairs

    def watch(output):
        written[noun_of(output.job_class)] |= kinds_of(parts(output))
        return parts(output)

    def watch_pairs(output):
        for key, value in pairs_of_reducers(output):
            written[noun_of(output.job_class)].add(key.split(' ')[0])
            yield key, value

    monkeypatch.setattr(JobOutput, 'parts', watch)
    monkeypatch.setattr(Reduced, 'all_pairs', watch_pairs)
    return written


@pytest.mark.parametrize('noun', sorted({*STAGES} - {*NEED_NOTHING}))
def test_a_stage_without_its_required_options_is_wrong_usage(noun, rows):
    done = run_stage(noun, rows)
    assert done.status == 2 and len(done.err.splitlines()) == 1 and f'mr_{noun}: --' in done.err
    assert done.out == ''


@pytest.mark.parametrize('noun', STAGES)
def test_the_help_of_a_stage_states_its_input_and_its_output(noun, capsys, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    assert main(class_of(noun), ['--help']) == 0
    text = capsys.readouterr().out
    assert text.startswith(f'usage: python -m mr_elm.streaming.mr_{noun} [options] INPUT...\n')
    assert re.search(r'^Input: .*<', text, re.MULTILINE) and re.search(r'^Output: .*<', text, re.MULTILINE)
    assert re.search(r'^Map: ', text, re.MULTILINE)
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert all(f'<{kind} FILE START' in text for kind in ('counts', 'rejected', 'error'))


def test_every_option_of_a_stage_says_what_it_is():
    jobs = [class_of(noun)(args=[]) for noun in STAGES]
    assert [
        action.option_strings
        for job in jobs
        for action in job.arg_parser._actions
        if action.dest in job._passthru_arg_dests | job._file_arg_dests and not action.help
    ] == []


def test_a_second_job_of_a_class_has_its_own_options_and_goes_with_its_last_reference():
    first, second = MRStats(args=['--planned-splits', '--block-rows', '7']), MRStats(args=['--block-rows', '8'])
    assert [(job.options.planned_splits, job.options.block_rows) for job in (first, second)] == [(True, 7), (False, 8)]
    with pytest.raises(ValueError, match='--block-rows'):
        MRStats(args=['--block-rows', 'many'])
    gone = weakref.ref(second)
    gc.disable()  # a circle of references would keep it, and the sums of its task
    try:
        del second
        assert gone() is None
    finally:
        gc.enable()


def compare_with_mrjob(monkeypatch):
    """Demand of the first job of each stage that mrjob's own runner writes the same lines; returns these stages."""
    compared, run_job = set(), Local.run_job

    @contextmanager
    def run_both(engine, job_class, plan, arguments, stage):
        if job_class not in compared and job_class is not MRPack:  # it names its files at random
            compared.add(job_class)
            words = [
                word
                for option, word in zip(['', *arguments], arguments, strict=False)
                if '--output-dir' not in (option, word)
            ]
            with (
                run_job(make_engine('inline', (), engine.reporter), job_class, plan, words, stage) as ours,
                MRJobRunner(reporter=engine.reporter).run_job(job_class, plan, words, stage) as theirs,
            ):
                write, read = job_class.OUTPUT_PROTOCOL().write, theirs.lines(Accounts(plan))
                made = ours.lines(Accounts(plan)) if ours.parts() else (write(*pair) for pair in ours.all_pairs())
                assert without_times(made) == without_times(read)
        with run_job(engine, job_class, plan, arguments, stage) as output:
            yield output

    monkeypatch.setattr(Local, 'run_job', run_both)
    return compared


def without_times(lines):
    """Return lines without the seconds that a solver took, and without checksums."""
    changing = re.compile(rb'"(step_)?seconds": [^,}]*|\t[0-9a-f]{8}\t?\n?$')
    return [changing.sub(b'', line) for line in lines]


def test_every_stage_writes_what_mrjob_makes_it_write_and_what_its_help_names(elm, folder, monkeypatch):
    np.savetxt('weighted.csv', np.abs(np.loadtxt('rows.csv', delimiter=',')), delimiter=',')
    Path('sets.csv').write_text(''.join(f'{label},{n % 7},{n % 5}\n' for n, label in enumerate(['a;b', 'b', ''] * 9)))
    written, compared = watch_outputs(monkeypatch), compare_with_mrjob(monkeypatch)
    for words in [*COMMANDS, ('pack', 'rows.csv', '-o', 'packed again')]:
        assert elm(*words, '-q', *(['-r', 'inline'] if words[0] != 'layer' else [])).status == 0, words
    written['columns'] = kinds_of(Path('out/MRColumns').glob('part-*'))
    assert {noun: kinds - {'counts', 'rejected', 'error'} for noun, kinds in written.items()} == {
        noun: documented_kinds(noun) - {'stored'} for noun in STAGES
    }  # a row that is a landmark ends a command
    assert {noun_of(kind) for kind in compared} == {*STAGES} - {'pack'}


def test_a_stage_without_input_is_wrong_usage():
    done = run_stage('stats')
    assert done.status == 2 and done.err.startswith('mr_stats: expected an INPUT')


def test_a_stage_with_an_unknown_option_is_wrong_usage(rows):
    done = run_stage('stats', rows, '--hidden', 3)
    assert done.status == 2 and 'Traceback' not in done.err


@pytest.mark.parametrize(
    'content, what',
    [
        ('0,1\n1,x\n', 'rows.csv, line 2: not a number'),
        ('0,1\n1,2,3\n', 'rows.csv, line 2: wrong width'),
        ('', 'rows.csv: expected rows, the file is empty'),
        (b'\x1f\x8b\x08 not gzip', 'rows.csv'),
    ],
)
def test_rows_that_cannot_be_used_end_a_stage_with_a_sentence(write, content, what):
    done = run_stage('stats', write('rows.csv', content), '-q')
    assert done.status == 1 and len(done.err.splitlines()) == 1 and what in done.err


def test_an_input_that_is_not_there_ends_a_stage_with_a_sentence(tmp_path):
    done = run_stage('stats', tmp_path / 'nothing.csv')
    assert done.status == 1 and len(done.err.splitlines()) == 1 and 'nothing.csv' in done.err


def test_bad_rows_may_be_skipped_and_are_counted(write):
    done = run_stage('stats', write('rows.csv', '0,1\n1,x\n1,2\n'), '--bad-rows', 'skip', '-q')
    assert done.status == 0 and done.err == ''
    counts = json.loads(next(line for line in done.out.splitlines() if line.startswith('counts')).split('\t')[1])
    assert counts['used'] == 2 and counts['rejected'] == {'not a number': 1}


def test_a_file_is_run_as_a_program_like_any_job_of_mrjob(rows):
    command = [sys.executable, mr_stats.__file__, rows, '-r', 'local', '-q']
    done = subprocess.run(command, capture_output=True, timeout=60)
    labels = [line for line in run_stage('stats', rows, '-q').out.splitlines() if line.startswith('labels')]
    assert done.returncode == 0 and [line for line in done.stdout.decode().splitlines() if line in labels] == labels


def test_an_output_folder_is_new_and_goes_when_the_stage_fails(write, rows, tmp_path):
    out = tmp_path / 'out'
    done = run_stage('stats', write('bad.csv', '0,1\n1,x\n'), '--output-dir', out, '-q')
    assert done.status == 1 and not out.exists()
    out.mkdir()
    done = run_stage('stats', rows, '--output-dir', out, '-q')
    assert done.status == 1 and f'{out}: expected a new folder' in done.err


def test_an_output_folder_holds_the_lines(rows, tmp_path):
    done = run_stage('stats', rows, '--output-dir', tmp_path / 'out', '-q')
    assert done.status == 0 and done.out == ''
    parts = b''.join(JobOutput(MRStats, str(tmp_path / 'out')).lines(Accounts(InputPlan([]))))
    assert parts.decode() == run_stage('stats', rows, '-q').out


def test_a_task_without_a_plan_reads_lines_as_hadoop_hands_them_out(by_hand_alone, rows, read_pairs):
    """`hadoop jar hadoop-streaming.jar` runs the mapper and the reducer of a stage without any driver of ours."""
    text = rows.read_bytes()
    cut = text.index(b'\n', len(text) // 2) + 1
    mapped = [
        line
        for start, part in ((0, text[:cut]), (cut, text[cut:]))
        for line in by_hand_alone(MRStats, part, file=str(rows), start=start)
    ]
    reduced = by_hand_alone(MRStats, b'\n'.join(sorted(mapped)) + b'\n', task='reducer')
    labels = {kind: value for kind, _, value in read_pairs(reduced)}['labels']
    lines = text.decode().splitlines()
    assert {name: entry[0] for name, entry in labels.items()} == {
        name: sum(line.split(',')[0] == name for line in lines) for name in labels
    }


def test_rows_may_be_piped_through_a_mapper(rows, read_pairs):
    program, given = [sys.executable, '-m', 'mr_elm.streaming.mr_stats'], rows.read_bytes()
    mapped = subprocess.run([*program, '--mapper'], input=given, capture_output=True, timeout=60)
    assert (mapped.returncode, mapped.stderr) == (0, b'')
    lines = b''.join(sorted(mapped.stdout.splitlines(keepends=True)))
    reduced = subprocess.run([*program, '--reducer'], input=lines, capture_output=True, timeout=60)
    whole = run_stage('stats', rows, '-q').out.encode().splitlines()
    piped = reduced.stdout.splitlines()
    assert [line for line in piped if line[:6] != b'counts'] == [line for line in whole if line[:6] != b'counts']
    counts = next(value for kind, _, value in read_pairs(piped) if kind == 'counts')
    assert counts['length'] == len(given) and counts['used'] == len(given.splitlines())


@pytest.mark.parametrize(
    'text, said',
    [
        (b'0,1\n1,x\n', 'line 2: not a number'),
        (b'0,1\n1,2,3\n', 'line 2: wrong width'),
        (b'PK\x03\x04', 'expected rows, found a zip archive'),
    ],
)
def test_rows_in_a_pipe_that_cannot_be_used_end_a_mapper_with_a_sentence(text, said, monkeypatch):
    monkeypatch.setattr(sys, 'stdin', io.TextIOWrapper(io.BytesIO(text)))
    done = run_stage('stats', '--mapper')
    assert done.status == 1 and done.err.startswith(f'mr_stats: standard input: {said}')
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    'words, status, said',
    [
        (['--mapper'], 2, 'mr_gram: --layer: expected a file, found none'),
        (['--mapper', '--bad'], 2, 'mr_gram: '),
        (['--mapper', '--layer', 'none.npz', '--grid', 'none'], 1, 'mr_gram: standard input: none.npz'),
        (['--reducer'], 1, 'mr_gram: standard input: a damaged line on the wire'),
    ],
)
def test_a_task_in_a_pipe_that_fails_says_so_in_a_sentence(words, status, said, monkeypatch):
    monkeypatch.setattr(sys, 'stdin', io.TextIOWrapper(io.BytesIO(b'0,1,2\n1,2,3\n')))
    done = run_stage('gram', *words)
    assert done.status == status and done.err.startswith(said) and done.err.count('\n') == 1


def test_the_plan_that_a_step_leaves_tells_tasks_which_of_several_files_they_read(
    elm, folder, by_hand_alone, read_pairs
):
    text = (folder / 'rows.csv').read_bytes()
    (folder / 'second.csv').write_bytes(text)
    assert elm('layer', 'pesvm', 'rows.csv', 'second.csv', '--model', 'm.npz', '-q').status == 0
    mapped = by_hand_alone(MRStats, text, '--plan', 'm.plan.json', file=f'file:{folder}/second.csv')
    assert [int(place[0]) for kind, place, _ in read_pairs(mapped) if kind == 'counts'] == [1]
