"""Numbers that come as numbers stay numbers: no pass over Parquet, Arrow or packed rows writes or reads one as text."""

import builtins
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

WALKED = tuple(f'mr_elm.{room}.' for room in ('rows', 'passes', 'sums', 'features', 'streaming'))


class Watched(type):
    """Stand for a type, and pass what it is called with to `seen`."""

    def __call__(cls, *values):
        cls.seen.extend(values[:1])
        return cls.real(*values)

    def __instancecheck__(cls, value):
        return isinstance(value, cls.real)


@pytest.fixture
def written(monkeypatch):
    """Watch repr, str and float in all modules that rows walk through: a list of what they were called with."""
    seen = []
    stands_for = {
        kind: Watched(kind.__name__, (kind,), {'real': kind, 'seen': seen, 'dtype': np.dtype(kind)})
        for kind in (float, str)
    }

    def watched_repr(value):
        seen.append(value)
        return builtins.repr(value)

    for name, module in list(sys.modules.items()):
        if name.startswith(WALKED):
            monkeypatch.setitem(vars(module), 'repr', watched_repr)
            for kind, watched in stands_for.items():
                monkeypatch.setitem(vars(module), kind.__name__, watched)
    return seen


def numbers_among(seen):
    """Return the numbers that were written, or read from text."""
    return {
        value if isinstance(value, float) else number
        for value in seen
        if isinstance(value, (float, str)) and (number := as_number(value)) is not None
    }


def as_number(text):
    try:
        return float(text)
    except ValueError:
        return None


@pytest.fixture
def table(rng):
    X, weights = rng.standard_normal((60, 4)), rng.uniform(1, 2, 60)
    targets = X @ rng.standard_normal((4, 2)) + rng.standard_normal((60, 2))
    names = ['a', 'b', 'c', 'd', 'y', 'z', 'w']
    return pa.table(dict(zip(names, np.column_stack([X, targets, weights]).T, strict=True)))


@pytest.fixture(params=['rows.parquet', 'rows.arrow', 'packed'])
def path(request, elm, table, tmp_path):
    path = tmp_path / request.param
    if request.param == 'rows.arrow':
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
        return path
    pq.write_table(table, tmp_path / 'rows.parquet')
    if request.param == 'packed':
        assert (
            elm(
                'pack',
                tmp_path / 'rows.parquet',
                '-o',
                path,
                '--task',
                'regression',
                '--targets',
                'y,z',
                '--weight-column',
                'w',
                '-q',
            ).status
            == 0
        )
    return path


@pytest.mark.parametrize('method', ['pesvm', 'mr-kelm'])
def test_no_pass_writes_or_reads_a_number_of_the_rows_as_text(method, path, written, elm, table, tmp_path):
    words = [] if path.name == 'packed' else ['--weight-column', 'w']
    model = tmp_path / 'model.npz'
    commands = [
        ('train', method, path, '--task', 'regression', '--targets', 'y,z', *words, '--model', model),
        ('evaluate', model, path),
        ('predict', model, path, '-o', tmp_path / 'said.txt'),
    ]
    for command in commands:
        assert elm(*command, '-r', 'inline', '-q').status == 0
    values = {number for column in table.columns for number in column.to_pylist()}
    assert written and not values & numbers_among(written)


def test_packing_writes_no_number_as_text(written, elm, table, tmp_path):
    pq.write_table(table, tmp_path / 'rows.parquet')
    assert (
        elm(
            'pack',
            tmp_path / 'rows.parquet',
            '-o',
            tmp_path / 'packed',
            '--task',
            'regression',
            '--label-column',
            'y',
            '-r',
            'inline',
            '-q',
        ).status
        == 0
    )
    assert written and not set(table['y'].to_pylist()) & numbers_among(written)
