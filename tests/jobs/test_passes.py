"""Every pass of every command reads what the first one read: a file that changes, or a split that is lost, is an error.

Just before a job starts, the file loses a row, gains one, gets other labels, or is only written again. The command must
end with one sentence, and leave no model.
"""

import shutil
from functools import partial

import numpy as np
import pytest

from mr_elm.arithmetic import describe_blas
from mr_elm.engines import local, make_engine
from mr_elm.engines.local import Local
from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.passes.data_set import DataSet, whole_descriptions
from mr_elm.progress import Reporter
from mr_elm.rows.inputs import demand_unchanged, plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.streaming.mr_stats import MRStats

FEW = ['--hidden', '4']
ONE = ['--sigma', '1', '--C', '1']
COMMANDS = {
    'train pesvm': FEW,
    'train elm': FEW,
    'train pesvm nystrom': [*FEW, '--map', 'nystrom'],
    'train auto': ['--budget', '60'],
    'train sparse-elm': [],
    'train sparse-elm parts': ['--partitions', '2'],
    'train sparse-elm nodes': ['--kernel', 'sigmoid', *FEW],
    'train oelm': [],
    'train sphere-svm': [],
    'train mr-kelm rows': ['--emit', 'rows'],
    'train mr-kelm entries': ['--solver', 'svd', '--emit', 'entries'],
    'train mr-kelm cg': ['--solver', 'cg', '--rank', '30'],
    'tune pesvm': [*FEW, '--map', 'sigmoid', '--nu', '1', '--weight-scale', '1'],
    'tune pesvm sample': [*FEW, '--map', 'sigmoid', '--nu', '1', '--weight-scale', '1', '--sample', '30'],
    'tune sparse-elm': ONE,
    'tune sphere-svm': ONE,
    'tune mr-kelm': ONE,
    'update': [],
    'forget': [],
    'pack': [],
    'predict': [],
    'evaluate': [],
}
CHANGES = {
    'cut': lambda text: text[: text.rindex('\n', 0, -1) + 1],
    'longer': lambda text: text + '1,2.5,2.5\n',
    'other labels': lambda text: text.translate({ord('0'): '1', ord('1'): '0'}),
    'written again': lambda text: text,
}


@pytest.fixture
def rows(write):
    """Write 40 rows of two classes."""
    X = np.random.default_rng(0).standard_normal((40, 2))
    return write('rows.csv', ''.join(f'{i % 2},{x:.3f},{y:.3f}\n' for i, (x, y) in enumerate(X)))


@pytest.fixture
def out(tmp_path):
    """Name the file that a command writes, and must not leave when it fails."""
    return tmp_path / 'out.npz'


@pytest.fixture
def command(elm, rows, out, tmp_path):
    """Give the words of a command over the rows."""

    def words(name):
        verb, *method = name.split()[:2]
        known = []
        if not method:
            known = [] if verb == 'pack' else [tmp_path / 'known.npz']
            twice = tmp_path / 'twice.csv'
            twice.write_text(rows.read_text() * 2)
            assert elm('train', 'pesvm', twice, *FEW, '--model', tmp_path / 'known.npz', '-q').status == 0
        target = {'evaluate': [], 'pack': ['-o', out], 'predict': ['-o', out]}.get(verb, ['--model', out])
        return [verb, *method, *known, rows, *COMMANDS[name], *target, '-q']

    return words


@pytest.fixture
def jobs(monkeypatch, rows):
    """Count the jobs that read the rows, and do something just before one of them starts."""

    class Jobs:
        def before(self, number, action):
            self.n_started, self.number, self.action = 0, number, action

    jobs, run_job = Jobs(), Local.run_job

    def run(engine, job_class, plan, *others):
        if str(rows) in [file.path for file in plan.files]:
            if jobs.n_started == jobs.number:
                jobs.action()
            jobs.n_started += 1
        return run_job(engine, job_class, plan, *others)

    jobs.before(None, None)
    monkeypatch.setattr(Local, 'run_job', run)
    return jobs


def demand_refusal(done, out, words):
    """Demand that a command failed with one sentence that holds some words, and left nothing behind."""
    assert (done.status, len(done.err.splitlines())) == (1, 1) and words in done.err, done
    assert not out.exists() and not out.with_suffix('.sums.npz').exists()


def remove(path):
    """Remove a file or a folder, if there is one, and the sums beside a model."""
    path.with_suffix('.sums.npz').unlink(missing_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@pytest.fixture
def jobs_of(elm, command, jobs, out):
    """Run a command undisturbed: its words, and the numbers of its jobs that read the rows."""

    def count(name, *options):
        words = [*command(name), *options]
        jobs.before(None, None)
        assert elm(*words).status == 0
        remove(out)
        return words, range(jobs.n_started)

    return count


@pytest.mark.parametrize('name', COMMANDS)
def test_a_file_that_changes_before_any_job_is_noticed(elm, jobs_of, rows, out, jobs, name):
    """Each job of a command meets a change, and each command another one first."""
    (words, numbers), text, changes = jobs_of(name), rows.read_text(), list(CHANGES.values())
    for number in numbers:
        change = changes[(number + list(COMMANDS).index(name)) % len(changes)]
        rows.write_text(text)
        jobs.before(number, partial(rows.write_text, change(text)))
        done = elm(*words)
        demand_refusal(done, out, f'{rows}: the file must stay the same')


def lose_a_split(patch):
    """Let the next job run without the second of its splits."""
    plan_splits = local.plan_splits

    def lossy(*arguments):
        patch.undo()
        tasks = plan_splits(*arguments)
        return [*tasks[:1], *tasks[2:]]

    patch.setattr(local, 'plan_splits', lossy)


@pytest.mark.parametrize('name', COMMANDS)
def test_a_split_that_no_task_reads_is_noticed_in_any_job(elm, jobs_of, rows, out, jobs, maps, name):
    words, numbers = jobs_of(name, *maps(3))
    for number in numbers:
        with pytest.MonkeyPatch.context() as patch:
            jobs.before(number, partial(lose_a_split, patch))
            demand_refusal(elm(*words), out, f'{rows}: every byte must be read once')


@pytest.mark.parametrize('name', ['predict', 'evaluate'])
def test_a_split_that_no_process_reads_is_noticed(elm, command, rows, out, jobs, maps, name):
    words = [*command(name), *maps(3), '-r', 'local']
    with pytest.MonkeyPatch.context() as patch:
        jobs.before(0, partial(lose_a_split, patch))
        demand_refusal(elm(*words), out, f'{rows}: every byte must be read once')


def test_a_file_that_goes_after_it_was_read_is_noticed(write):
    plan = plan_inputs([str(write('a.csv', '0,1\n1,2\n')), str(write('b.csv', '0,1\n1,2\n'))], RowOptions())
    demand_unchanged(plan)
    write('b.csv', '').unlink()
    with pytest.raises(
        DataFormatError, match=r'b\.csv: the file must stay the same while jobs read it, but it was changed or removed'
    ):
        demand_unchanged(plan)


def test_a_data_set_holds_every_pass_against_the_first(write):
    """Whatever a pass is for: the second one over a file of other rows fails although no file has changed."""
    plan = plan_inputs([str(write('a.csv', '0,1\n1,2\n' * 9))], RowOptions())
    data = DataSet(plan, make_engine())
    assert len(list(data.run(MRStats, [], 'statistics'))) == 2
    next(iter(data.first.counts.values()))['blank'] = 1
    with pytest.raises(AccountingError, match=r'a\.csv: the first pass counted 1 blank, this one 0'):
        list(data.run(MRStats, [], 'statistics'))


def test_a_task_that_loads_fewer_libraries_computes_no_otherwise():
    one, both, other = 'openblas 1 Haswell', 'openblas 1 Haswell, openblas 2 Haswell', 'openblas 1 Zen'
    assert whole_descriptions({one, both}) == {both}
    assert whole_descriptions({one, other}) == {one, other}
    assert whole_descriptions({one, both, other}) == {both, other}


def test_other_arithmetic_in_a_task_is_told_once(write, recwarn):
    plan = plan_inputs([str(write('a.csv', '0,1\n1,2\n' * 9))], RowOptions())
    data = DataSet(plan, make_engine(reporter=Reporter(quiet=True)))
    job = data.run(MRStats, [], 'statistics')
    list(job)
    assert not recwarn and data.blas == {describe_blas()}
    for counts in job.accounts.counts.values():
        counts['blas'] = 'another BLAS'
    for _ in range(2):
        data.reconcile(job.accounts)
    [found] = recwarn
    assert str(found.message).startswith('tasks used different BLAS libraries or processor types (')
    assert data.blas == {'another BLAS', describe_blas()}
