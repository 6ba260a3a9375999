"""Sites whose tables hold text and gaps share one encoding, which is that of all rows together."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from reference.commands import elm, succeed

from mr_elm.model.file import read_model

HEADER = 'kind,town,size,age\n'
ROWS = st.lists(
    st.tuples(
        st.sampled_from('ab'),
        st.sampled_from(['', 'Oslo', 'Rome', 'São Paulo', 'x y']),
        st.one_of(st.just(''), st.integers(-50, 50)),
        st.floats(0, 99).map(lambda value: round(value, 3)),
    ),
    min_size=2,
    max_size=12,
)


def write_rows(path, rows):
    path.write_text(HEADER + ''.join(','.join(map(str, row)) + '\n' for row in rows), encoding='utf-8')
    return path


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(sites=st.lists(ROWS, min_size=2, max_size=3), most=st.integers(1, 5), weighted=st.booleans())
def test_the_model_of_tables_of_several_sites_is_that_of_all_rows(tmp_path_factory, sites, most, weighted):
    folder = tmp_path_factory.mktemp('sites')
    rows = [('a', 'Oslo', 1, 2.5), ('b', '', '', 7), *sites[0]], *sites[1:]
    words = ['--weight-column', 'age'] if weighted else []
    if weighted:
        rows = [[(*row[:3], row[3] + 1) for row in site] for site in rows]
        most = 100
    paths = [write_rows(folder / f'{k}.csv', site) for k, site in enumerate(rows)]
    statistics = [folder / f'{k}.stats.json' for k in range(len(paths))]
    for path, out in zip(paths, statistics, strict=True):
        succeed(elm('sums', path, '--statistics', '--encode', 'auto', *words, '-o', out, '-q'))
    layer, nodes = folder / 'm.layer.npz', ['--hidden', 7, '--nu', 0.1, '--max-categories', most]
    succeed(elm('layer', 'pesvm', *statistics, *nodes, '--model', layer, '-q'))
    for path in paths:
        succeed(elm('sums', path, '--layer', layer, '-o', path.with_suffix('.sums.npz'), '-q'))
    sums = [path.with_suffix('.sums.npz') for path in paths]
    assume(len({path.read_bytes() for path in sums}) == len(sums))  # `merge` refuses the sums of a site twice
    succeed(elm('merge', *sums, '--model', folder / 'merged.npz', '-q'))
    whole = write_rows(folder / 'all.csv', sum(map(list, rows), []))
    succeed(elm('train', 'pesvm', whole, '--encode', 'auto', *words, *nodes, '--model', folder / 'whole.npz', '-q'))
    merged, trained = read_model(folder / 'merged.npz'), read_model(folder / 'whole.npz')
    assert [column.categories for column in merged.encoding.columns] == [
        column.categories for column in trained.encoding.columns
    ]
    scores = []
    for name in ('merged', 'whole'):
        succeed(elm('predict', folder / f'{name}.npz', whole, '--scores', '-o', folder / f'{name}.txt', '-q'))
        scores.append(np.loadtxt(folder / f'{name}.txt', usecols=1, delimiter='\t'))
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-8 * max(1, abs(scores[1]).max()))
    # the rows of a site leave, and come back
    succeed(elm('forget', folder / 'merged.npz', paths[1], '--model', folder / 'left.npz', '-q'))
    succeed(elm('update', folder / 'left.npz', paths[1], '--model', folder / 'back.npz', '-q'))
    back = read_model(folder / 'back.npz').arrays['output_weights']
    np.testing.assert_allclose(back, merged.arrays['output_weights'], rtol=1e-6, atol=1e-8)
    assert trained.header.n_rows_used == merged.header.n_rows_used


@pytest.mark.parametrize(
    'other, words, cause',
    [
        ('a,5,1,2\nb,6,2,3\n', [], "text in column 'town', as at other sites, found numbers"),
        ('a,2020-01-31,1,2\nb,2020-02-01,2,3\n', [], 'holds dates or times'),
    ],
)
def test_columns_of_other_kinds_are_refused(tmp_path, other, words, cause):
    (tmp_path / 'a.csv').write_text(HEADER + 'a,Oslo,1,2\nb,Rome,2,3\n')
    (tmp_path / 'b.csv').write_text(HEADER + other)
    paths = [tmp_path / f'{name}.stats.json' for name in 'ab']
    done = [
        elm('sums', path.with_name(f'{path.name[0]}.csv'), '--statistics', '--encode', 'auto', '-o', path, '-q')
        for path in paths
    ]
    done.append(elm('layer', 'pesvm', *paths, '--hidden', 3, '--model', tmp_path / 'm.npz', '-q'))
    assert [each.status for each in done][0] == 0
    failed = next(each for each in done if each.status)
    assert failed.status == 1 and cause in failed.err and failed.err.count('\n') == 1


def test_numbers_that_are_categories_at_all_sites_are_shared(tmp_path):
    for name, code in (('a', 5), ('b', 7)):
        (tmp_path / f'{name}.csv').write_text(HEADER + f'a,{code},1,2\nb,x,2,3\nb,{code},2,3\n')
        words = '--encode', 'auto', '--category', 'town', '-o', tmp_path / f'{name}.stats.json', '-q'
        succeed(elm('sums', tmp_path / f'{name}.csv', '--statistics', *words))
    words = '--hidden', 3, '--model', tmp_path / 'm.npz', '-q'
    succeed(elm('layer', 'pesvm', tmp_path / 'a.stats.json', tmp_path / 'b.stats.json', *words))
    from mr_elm.drivers.federate import read_layer

    assert read_layer(tmp_path / 'm.npz').encoding.columns[0].categories == ('5', '7', 'x')
