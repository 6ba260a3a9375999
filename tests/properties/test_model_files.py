"""A changed model file is refused by name, or predicts; it takes no more memory than it has bytes."""

import io
import json
import tracemalloc
import zipfile
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from properties.texts import damage
from reference.files import copy_model

from mr_elm.cli import main
from mr_elm.errors import ModelFormatError
from mr_elm.model.file import load_layer, read_model
from mr_elm.store import FORMAT, VERSION, save_arrays

REGRESSION = ['--task', 'regression']
TRAININGS = {  # name: arguments of train, and whether labels are targets
    'metric': ['pesvm', '--hidden', 4, '--metric', 'full'],
    'pesvm': ['pesvm', '--hidden', 4],
    'leaves': ['pesvm', '--map', 'leaves', '--leaves', 8],
    'nystrom': ['pesvm', '--hidden', 4, '--map', 'nystrom', *REGRESSION],
    'elm': ['elm', '--hidden', 4, '--map', 'rbf', *REGRESSION],
    'sparse-elm': ['sparse-elm'],
    'nodes': ['sparse-elm', '--kernel', 'sigmoid', '--hidden', 4],
    'oelm': ['oelm', '--kernel', 'laplacian'],
    'sphere-svm': ['sphere-svm'],
    'mr-kelm': ['mr-kelm', '--kernel', 'polynomial'],
    'mr-kelm regression': ['mr-kelm', '--solver', 'cg', *REGRESSION],
}
X = np.random.default_rng(0).standard_normal((30, 3))


class Models(dict):
    """Map names to (header, arrays); a failure does not print them all."""

    def __repr__(self):
        return ', '.join(self)


@pytest.fixture(scope='module')
def models(tmp_path_factory):
    """Train a small model of each method, and make one whose support vectors are sparse."""
    folder, found = tmp_path_factory.mktemp('models'), Models()
    for name, arguments in TRAININGS.items():
        path = write_rows(folder, REGRESSION[1] in arguments)
        assert run('train', *arguments, path, '--model', folder / 'm.npz', '--overwrite', '-q') == (0, '')
        model = read_model(folder / 'm.npz')
        found[name] = model.header.to_json(), model.arrays
    header, arrays = found['sphere-svm']
    rows = {
        'data': arrays['support_vectors'].ravel(),
        'indices': np.tile(np.arange(3), len(arrays['support_vectors'])),
        'indptr': np.arange(0, arrays['support_vectors'].size + 1, 3),
    }
    dense = {name: array for name, array in arrays.items() if name != 'support_vectors'}
    found['sparse'] = header, {**dense, **{f'support_vectors_{name}': part for name, part in rows.items()}}
    return found


def write_rows(folder, numeric):
    """Write the rows as CSV, with targets or with labels of three classes."""
    path, labels = folder / 'rows.csv', X[:, 0] if numeric else ['a', 'b', 'c'] * 10
    path.write_text(''.join(','.join(map(str, [label, *row])) + '\n' for label, row in zip(labels, X, strict=True)))
    return path


def run(*arguments):
    """Run the command line: its status and what it prints as an error."""
    with redirect_stderr(io.StringIO()) as said, redirect_stdout(io.StringIO()):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
    return status, said.getvalue()


@pytest.fixture(scope='module')
def path(tmp_path_factory):
    """Name a file for changed models."""
    return tmp_path_factory.mktemp('changed') / 'm.npz'


def write(path, header, arrays):
    """Write a model file; header : what JSON can hold, or an array to stand in its place."""
    text = header if isinstance(header, np.ndarray) else np.array(json.dumps(header))
    with open(path, 'wb') as stream:
        np.savez(stream, header=text, **arrays)


def read_and_predict(path):
    """Predict the rows, or return None where the file is refused by name."""
    try:
        model = read_model(path)
    except ModelFormatError as error:
        assert str(path) in str(error)
        return None
    with np.errstate(all='ignore'):
        labels = model.predict(X)
    assert labels.shape == (len(X),) and (model.numeric or set(labels.tolist()) <= set(range(len(model.classes))))
    return labels


kinds = st.sampled_from(
    [
        '<f8',
        '<f8',
        '<f8',
        '>f8',
        '<f4',
        '<f2',
        '<i8',
        '<i4',
        '|b1',
        '<c16',
        '<U3',
        '|S3',
        '<M8[D]',
        '|O',
        [('a', '<f8')],
    ]
)
shapes = arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
strange = st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, -1.0])


@st.composite
def changed_array(draw, array):
    """Draw what stands in the place of an array: another shape, another type, other values."""
    change = draw(st.sampled_from(['values', 'values', 'type', 'shape', 'row']))
    if change == 'values' and array.size:
        array = array.copy()
        array[tuple(draw(st.integers(0, n - 1)) for n in array.shape)] = draw(
            strange if array.dtype.kind == 'f' else st.integers(-9, 2**31 - 1)
        )
        return array
    if change == 'row' and array.ndim:
        return draw(st.sampled_from([array[:-1], np.concatenate([array, array[:1]]), array.T, array[None]]))
    if change == 'type':
        return zeros(array.shape, draw(kinds))
    return zeros(draw(shapes), draw(kinds))


def zeros(shape, kind):
    """Make an array of this shape and type."""
    return np.full(shape, None, object) if kind == '|O' else np.zeros(shape, kind)


@settings(max_examples=200)
@given(st.data())
def test_a_model_with_another_array_is_refused_or_predicts(models, path, data):
    header, arrays = models[data.draw(st.sampled_from(sorted(models)))]
    name = data.draw(st.sampled_from(sorted(arrays)))
    other = data.draw(st.sampled_from(sorted(arrays)))
    change = data.draw(st.sampled_from(['replace'] * 6 + ['remove', 'add', 'exchange']))
    if change == 'replace':
        arrays = {**arrays, name: data.draw(changed_array(arrays[name]))}
    elif change == 'remove':
        arrays = {key: array for key, array in arrays.items() if key != name}
    elif change == 'add':
        added = data.draw(st.sampled_from(['gram', 'support_vectors', 'landmarks', 'a/b', '../a', 'x.npy']))
        arrays = {**arrays, added: zeros(data.draw(shapes), data.draw(kinds))}
    else:
        arrays = {**arrays, name: arrays[other], other: arrays[name]}
    write(path, header, arrays)
    read_and_predict(path)


numbers = st.sampled_from([-1, 0, 1, 2, 3, 4, 0.5, 1e200, 1e-200, 5e-324, 10**12, 10**400, np.nan, np.inf, -np.inf])
inner_names = st.sampled_from(['a', 'kernel', 'map', 'sigma'])
words = st.sampled_from(['', 'a', 'gaussian', 'laplacian', 'sigmoid', 'nystrom', 'one-vs-all', 'regression', 'elm'])
records = numbers | st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(inner_names, inner),
    max_leaves=5,
)
NAMES = ['kernel', 'map', 'sigma', 'gamma', 'degree', 'normalised', 'multiclass', 'nu', 'C', 'grid', 'peak', 'input']


@st.composite
def changed_header(draw, header):
    """Draw what stands in the place of a header: other JSON, or one value of it is another or is gone."""
    if draw(st.integers(0, 9)) == 0:
        return draw(records | st.builds(np.array, st.text(max_size=9)) | st.builds(zeros, shapes, kinds))
    header = json.loads(json.dumps(header))
    inner = draw(st.sampled_from([header, header['parameters'], header['parameters']]))
    name = draw(st.sampled_from(sorted(inner)) | st.sampled_from(NAMES))
    inner[name] = draw(records)
    if draw(st.integers(0, 3)) == 0:
        del inner[name]
    return header


@settings(max_examples=200)
@given(st.data())
def test_a_model_with_another_header_is_refused_or_predicts(models, path, data):
    header, arrays = models[data.draw(st.sampled_from(sorted(models)))]
    write(path, data.draw(changed_header({'format': FORMAT, 'version': VERSION, **header})), arrays)
    read_and_predict(path)


@settings(max_examples=60)
@given(st.data())
def test_commands_refuse_a_changed_model_in_one_sentence_or_use_it(models, path, data):
    name = data.draw(st.sampled_from(sorted(models)))
    header, arrays = models[name]
    write(path, data.draw(changed_header({'format': FORMAT, 'version': VERSION, **header})), arrays)
    rows = write_rows(path.parent, header['task'] == 'regression')
    out = ['--model', path.with_name('out.npz'), '--overwrite', '-q']
    status, said = run(
        *data.draw(
            st.sampled_from(
                [
                    ['predict', path, rows, '-o', path.with_name('out'), '--overwrite', '-q'],
                    ['evaluate', path, rows, '-q'],
                    ['inspect', path],
                    ['update', path, rows, *out],
                    ['forget', path, rows, *out],
                    ['merge', path, copy_model(path), *out],
                    ['train', 'pesvm', rows, '--like', path, *out],
                ]
            )
        )
    )
    lines = [line for line in said.splitlines() if 'warning' not in line]
    assert not lines if status == 0 else status == 1 and len(lines) == 1 and '--debug' not in said, said


@pytest.mark.parametrize('value', [0, 'a', None, [1], {'a': 1}], ids=str)
@pytest.mark.parametrize('name', ['history', 'blas', 'solver', 'certificates'])
def test_reports_of_other_types_are_refused_or_shown(models, path, name, value):
    for header, arrays in models.values():
        header = json.loads(json.dumps({'format': FORMAT, 'version': VERSION, **header}))
        (header if name in header else header['parameters'])[name] = value
        write(path, header, arrays)
        status, said = run('inspect', path)
        assert status == 0 or status == 1 and len(said.splitlines()) == 1 and '--debug' not in said, said


@settings(max_examples=200)
@given(st.data())
def test_a_damaged_model_file_is_refused_or_predicts_as_before(models, path, data):
    header, arrays = models[data.draw(st.sampled_from(sorted(models)))]
    save_arrays(path, header, arrays)
    wanted = read_and_predict(path)
    path.write_bytes(data.draw(damage(path.read_bytes())))
    found = read_and_predict(path)
    assert found is None or np.array_equal(found, wanted)


def npy(description, data=b''):
    """Make an npy file that claims what it likes."""
    header = description.encode().ljust(117) + b'\n'
    return b'\x93NUMPY\x01\x00' + len(header).to_bytes(2, 'little') + header + data


def claim(shape, kind='<f8'):
    """Describe an array as npy does."""
    return f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}"


HEADER = npy(claim('()', '<U2'), '{}'.encode('utf-32-le'))
BOMBS = {
    'a header that claims 10^12 numbers': [('a.npy', npy(claim('(1000000000000,)')), zipfile.ZIP_STORED)],
    'numbers without size': [('a.npy', npy(claim('(1000000000000,)', '|S0')), zipfile.ZIP_STORED)],
    'long text': [('a.npy', npy(claim('()', '<U999999999')), zipfile.ZIP_STORED)],
    'numbers below zero': [('a.npy', npy(claim('(-1000000, -1000000)')), zipfile.ZIP_STORED)],
    'zeros that inflate': [('a.npy', npy(claim('(4000000,)'), bytes(32_000_000)), zipfile.ZIP_DEFLATED)],
    'zeros that inflate in bz2': [('a.npy', npy(claim('(4000000,)'), bytes(32_000_000)), zipfile.ZIP_BZIP2)],
    'a header without end': [('a.npy', b'\x93NUMPY\x02\x00\xff\xff\xff\xff{', zipfile.ZIP_STORED)],
    'brackets without end': [('a.npy', npy('(' * 60_000), zipfile.ZIP_STORED)],
    'no array': [('a.npy', b'no array', zipfile.ZIP_STORED), ('folder/', b'', zipfile.ZIP_STORED)],
}


@pytest.mark.parametrize('name', BOMBS)
def test_a_model_takes_no_more_memory_than_its_file_has_bytes(path, name):
    with zipfile.ZipFile(path, 'w') as archive:
        for member, content, compression in [('header.npy', HEADER, zipfile.ZIP_STORED), *BOMBS[name]]:
            archive.writestr(member, content, compression)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFormatError, match='m.npz'):
            read_model(path)
        assert tracemalloc.get_traced_memory()[1] < 1e6 + 4 * path.stat().st_size
    finally:
        tracemalloc.stop()


def test_an_npy_file_in_the_place_of_a_model_is_refused_whatever_it_claims(path):
    path.write_bytes(npy(claim('(1000000000000,)')))
    with pytest.raises(ModelFormatError, match='m.npz'):
        load_layer(path)


def test_sparse_support_vectors_predict_without_becoming_dense(models, path):
    header, n = {**models['sparse'][0], 'n_features': 4000, 'classes': ['a', 'b']}, 4000
    parts = {'data': np.ones(n), 'indices': np.arange(n), 'indptr': np.arange(n + 1)}
    save_arrays(
        path,
        header,
        {
            'feature_offset': np.zeros(n),
            'feature_scale': np.ones(n),
            'intercept': np.zeros(1),
            'dual_coef': np.ones((n, 1)),
            **{f'support_vectors_{k}': v for k, v in parts.items()},
        },
    )
    tracemalloc.start()
    try:
        assert read_model(path).predict(np.zeros((1, n))).tolist() == [1]
        assert tracemalloc.get_traced_memory()[1] < 8 * n * n / 4
    finally:
        tracemalloc.stop()
