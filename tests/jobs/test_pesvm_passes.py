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


def commands_with_outputs(folder):
    """List commands that leave bad rows out of an output in a folder, but for their input: (output, words...)."""
    model, labels, packed = (folder / name for name in ('m.npz', 'labels', 'packed'))
    return (
        (model, 'train', 'pesvm', '--hidden', 4, '--model', model),
        (labels, 'predict', model, '-o', labels),
        (packed, 'pack', '-o', packed),
    )


def test_the_list_of_skipped_rows_goes_with_its_output(elm, write, tmp_path):
    """What is left of an output that was removed is no reason to refuse a new one, and says nothing about it."""
    bad, good = write('bad.csv', '0,1,2\n1,2,1\n1,2\n' * 9), write('good.csv', '0,1,2\n1,2,1\n' * 9)
    for output, *words in commands_with_outputs(tmp_path):
        rejected = write(f'{output.name}.rejected', '/rows/of an output.csv\t7\twrong width: 3 fields\t1,2,3\n')
        assert elm(*words, bad, '--bad-rows', 'skip', '-q').status == 0
        assert len(rejected.read_text().splitlines()) == 9
        output.rename(tmp_path / f'{output.name}.before')
        assert elm(*words, good, '-q').status == 0
        assert not rejected.exists()


@pytest.mark.parametrize('kind', ['text', 'empty', 'folder'])
def test_a_file_of_another_program_is_neither_replaced_nor_removed(elm, write, tmp_path, kind):
    bad, good = write('bad.csv', '0,1,2\n1,2,1\n1,2\n' * 9), write('good.csv', '0,1,2\n1,2,1\n' * 9)
    for output, *words in commands_with_outputs(tmp_path):
        foreign = tmp_path / f'{output.name}.rejected'
        if kind == 'folder':
            foreign.mkdir()
        else:
            foreign.write_text('my own notes\n' * (kind == 'text'))
        done = elm(*words, bad, '--bad-rows', 'skip')
        assert done.status == 1 and f'{foreign}: expected no such file' in done.err and not output.exists()
        assert done.err.count('\n') == 1  # before any work
        assert elm(*words, good, '-q').status == 0
        assert foreign.is_dir() or foreign.read_text() == 'my own notes\n' * (kind == 'text')


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
