"""PESVM keeps account of rows that it leaves out, and of tiles that get lost."""

import pytest

from mr_elm.drivers import gram_job, pesvm
from mr_elm.engines import make_engine
from mr_elm.errors import AccountingError
from mr_elm.machines.options import PESVMOptions
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions


def test_the_list_of_skipped_rows_does_not_outlive_its_model(elm, write, tmp_path):
    bad, good = write('bad.csv', '0,1,2\n1,2,1\n1,2\n' * 9), write('good.csv', '0,1,2\n1,2,1\n' * 9)
    model, rejected = tmp_path / 'm.npz', tmp_path / 'm.npz.rejected'
    options = ['--hidden', 4, '--model', model, '-q']
    assert elm('train', 'pesvm', bad, '--bad-rows', 'skip', *options).status == 0
    assert len(rejected.read_text().splitlines()) == 9
    assert elm('train', 'pesvm', good, '--overwrite', *options).status == 0
    assert not rejected.exists()


def test_a_foreign_list_of_skipped_rows_is_not_replaced(elm, write, tmp_path):
    bad, mine = write('bad.csv', '0,1,2\n1,2,1\n1,2\n' * 9), write('m.npz.rejected', 'mine')
    done = elm('train', 'pesvm', bad, '--bad-rows', 'skip', '--hidden', 4, '--model', tmp_path / 'm.npz', '-q')
    assert done.status == 1 and 'm.npz.rejected' in done.err and mine.read_text() == 'mine'
    assert not (tmp_path / 'm.npz').exists()


def test_a_lost_tile_is_noticed(write, monkeypatch):
    plan = plan_inputs([str(write('rows.csv', '0,1,2\n1,2,1\n' * 20))], RowOptions())
    run_gram = gram_job.run_gram
    monkeypatch.setattr(
        gram_job,
        'run_gram',
        lambda *arguments: (pair for pair in run_gram(*arguments) if not pair[0].startswith('gram')),
    )
    with pytest.raises(AccountingError, match='every tile'):
        pesvm.train(plan, PESVMOptions(n_hidden=3), make_engine())
