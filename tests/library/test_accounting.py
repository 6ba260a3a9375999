"""Every line of every pass is accounted for once; what does not add up stops the run."""

import json
from dataclasses import replace

import pytest

from mr_elm.errors import AccountingError, DataFormatError
from mr_elm.rows.accounting import Accounts, describe_bad_row
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.rows.options import RowOptions
from mr_elm.rows.wire import make_key

SIZE = 100
PLAN = InputPlan([InputFile(path, SIZE, RowOptions('csv', n_columns=3)) for path in ('/d/a.csv', '/d/b.csv')])


def counts(lines=10, used=None, rejected=None, **others):
    rejected = rejected or {}
    used = lines - sum(rejected.values()) - sum(others.values()) if used is None else used
    return {
        'file': '',
        'lines': lines,
        'records': lines,
        'headers': 0,
        'comments': 0,
        'blank': 0,
        'used': used,
        'held': 0,
        'rejected': rejected,
        'blas': 'b',
        **others,
    }


def accounts_of(splits, rejected=()):
    accounts = Accounts(PLAN)
    for (number, start), values in splits.items():
        ends = [other for file, other in splits if file == number and other > start]
        whole = {'length': min([*ends, SIZE]) - start}
        assert accounts.take(make_key('counts', number, start), {**whole, **values})
    for place, reason, detail, line in rejected:
        assert accounts.take(make_key('rejected', *place), {'reason': reason, 'detail': detail, 'line': line})
    return accounts


def test_a_pass_that_adds_up_settles():
    accounts = accounts_of({(0, 0): counts(12, headers=1, blank=2), (0, 50): counts(8), (1, 0): counts(5, comments=5)})
    accounts.settle('stop')
    assert accounts.used == 9 + 8 + 0


@pytest.mark.parametrize('used', [9, 11])
def test_lines_that_are_not_accounted_for_are_refused(used):
    accounts = accounts_of({(0, 0): counts(10, used=used), (1, 0): counts()})
    with pytest.raises(AccountingError, match='10 lines were read'):
        accounts.settle('stop')


def test_a_file_that_no_task_read_is_refused():
    with pytest.raises(AccountingError, match=r'b\.csv: every byte'):
        accounts_of({(0, 0): counts()}).settle('stop')


@pytest.mark.parametrize(
    'splits',
    [
        {(0, 0): counts(), (0, 40): counts(length=30), (1, 0): counts()},
        {(0, 0): counts(), (0, 40): counts(length=20), (0, 70): counts(), (1, 0): counts()},
        {(0, 40): counts(), (1, 0): counts()},
        {(0, 0): counts(), (1, 0): counts(length=99)},
        {(0, 0): counts(length=50), (0, 40): counts(), (1, 0): counts()},
        {(0, 0): counts(), (1, 0): counts(length=101)},
    ],
    ids=['the last lost', 'one between lost', 'the first lost', 'a byte short', 'one read twice', 'a byte too many'],
)
def test_splits_that_do_not_make_up_the_files_are_refused(splits):
    with pytest.raises(AccountingError, match=r'\.csv: every byte must be read once.* lost or counted twice'):
        accounts_of(splits).settle('stop')


@pytest.mark.parametrize(
    ('kind', 'place', 'value'),
    [('counts', (0, 0), counts()), ('rejected', (0, 0, 3), {'reason': 'r', 'detail': 'd', 'line': 'l'})],
)
def test_a_record_that_comes_twice_is_refused(kind, place, value):
    accounts = Accounts(PLAN)
    accounts.take(make_key(kind, *place), value)
    with pytest.raises(AccountingError, match='twice'):
        accounts.take(make_key(kind, *place), value)


def test_other_records_are_left_to_the_caller():
    accounts = Accounts(PLAN)
    assert not accounts.take(make_key('gram', 0, 0), {})
    assert not accounts.take(make_key('labels'), {})


def test_the_line_of_a_bad_row_counts_the_lines_of_the_splits_in_front():
    splits = {
        (0, 0): counts(10),
        (0, 40): counts(7),
        (0, 80): counts(4, rejected={'wrong width': 1}),
        (1, 0): counts(3),
    }
    accounts = accounts_of(splits, [((0, 80, 2), 'wrong width', '3 expected', '1,2')])
    with pytest.raises(DataFormatError, match=r'^/d/a\.csv, line 20: wrong width: 3 expected$'):
        accounts.settle('stop')
    accounts.settle('skip')
    assert [(row.path, row.line, row.text) for row in accounts.rejected()] == [('/d/a.csv', 20, '1,2')]


def test_bad_rows_are_listed_in_input_order_and_the_first_is_named():
    splits = {(0, 0): counts(10, rejected={'x': 1}), (1, 0): counts(10, rejected={'x': 2})}
    rows = [((1, 0, 10), 'x', '', 'c'), ((1, 0, 9), 'x', '', 'b'), ((0, 0, 5), 'x', '', 'a')]
    accounts = accounts_of(splits, rows)
    assert [row.text for row in accounts.rejected()] == ['a', 'b', 'c']
    with pytest.raises(DataFormatError, match=r'a\.csv, line 6:'):
        accounts.settle('stop')


def test_damage_stops_a_pass_even_when_bad_rows_are_skipped():
    accounts = accounts_of({(0, 0): counts(), (1, 0): counts()})
    accounts.take(make_key('error', 0, 0), {'message': '/d/a.csv: cut'})
    with pytest.raises(DataFormatError, match=r'^/d/a\.csv: cut$'):
        accounts.settle('skip')


def test_several_tasks_may_report_damage():
    accounts = accounts_of({(0, 0): counts(), (1, 0): counts()})
    for _ in range(2):
        accounts.take(make_key('error', 0, 0), {'message': 'too many classes'})
    with pytest.raises(DataFormatError, match=r'^/d/a\.csv and 1 more: too many classes$'):
        accounts.settle('stop')


def test_of_several_damages_the_first_of_the_input_is_named():
    accounts = accounts_of({})
    for place, name in ((1, 0), 'b'), ((0, 40), 'a'), ((0, 70), 'a later'):
        accounts.take(make_key('error', *place), {'message': f'/d/{name}.csv: cut'})
    with pytest.raises(DataFormatError, match=r'^/d/a\.csv: cut$'):
        accounts.settle('stop')


@pytest.mark.parametrize('n_lines', [19, 21])
def test_tasks_that_read_other_lines_than_hadoop_gave_them_are_refused(n_lines):
    accounts = accounts_of({(0, 0): counts(), (1, 0): counts()})
    accounts.map_input_records = 20
    accounts.settle('stop')
    accounts.map_input_records = n_lines
    with pytest.raises(AccountingError, match=f'Hadoop gave its map tasks {n_lines} lines, .* read 20'):
        accounts.settle('stop')


@pytest.mark.parametrize('n_rows', [9, 11])
def test_a_file_with_other_rows_than_it_says_is_refused(n_rows):
    accounts = Accounts(replace(PLAN, files=[replace(PLAN.files[0], n_rows=n_rows)]))
    accounts.take(make_key('counts', 0, 0), counts(10, length=SIZE, used=10))
    with pytest.raises(AccountingError, match=f'it has {n_rows} rows, tasks read 10'):
        accounts.settle('stop')


def test_passes_with_other_splits_agree():
    one = accounts_of({(0, 0): counts(20, headers=1, rejected={'x': 2}), (1, 0): counts(9, blank=9)})
    two = accounts_of(
        {
            (0, 0): counts(12, headers=1, rejected={'x': 1}),
            (0, 70): counts(8, rejected={'x': 1}),
            (1, 0): counts(5, blank=5),
            (1, 50): counts(4, blank=4),
        }
    )
    one.compare(two)
    two.compare(one)


@pytest.mark.parametrize('other', [counts(11), counts(10, blank=1), counts(10, rejected={'x': 1}), counts(9)])
def test_passes_that_counted_different_lines_are_refused(other):
    one, two = (accounts_of({(0, 0): counts(), (1, 0): values}) for values in (counts(10), other))
    with pytest.raises(AccountingError, match=r'b\.csv: the first pass counted'):
        one.compare(two)
    with pytest.raises(AccountingError, match=r'b\.csv: the first pass counted'):
        two.compare(one)


def test_passes_over_an_empty_file_agree():
    plan = replace(PLAN, files=[replace(PLAN.files[0], size=0)])
    one, two = Accounts(plan), Accounts(plan)
    for accounts in (one, two):
        accounts.settle('stop')
    one.compare(two)


def test_passes_that_rejected_for_other_reasons_are_refused():
    one, two = (accounts_of({(0, 0): counts(), (1, 0): counts(rejected={reason: 1})}) for reason in 'xy')
    with pytest.raises(AccountingError, match='rejected as'):
        one.compare(two)


@pytest.mark.parametrize(
    'n_bad, n_lines, others',
    [
        (1, 1, ''),
        (2, 9, ' (2 bad rows so far)'),
        (1234, 9999, ' (1,234 bad rows so far)'),
        (8, 9, ' (8 bad rows so far)'),
    ],
)
def test_the_row_that_ended_a_task_is_named_wherever_its_text_stands(tmp_path, n_bad, n_lines, others):
    """Where most rows are bad it is no fault of rows: to leave them out is no cure."""
    (tmp_path / 'b.csv').write_text('1,2\n' * 10 + '1\n' * 10)
    plan = InputPlan([InputFile(str(tmp_path / name), 60, RowOptions('csv')) for name in ('a.csv', 'b.csv')])
    fact = {'file': 1, 'start': 39, 'row': 3, 'reason': 'wrong width', 'detail': 'found 1'}
    fact |= {'n_lines': n_lines, 'n_bad': n_bad}
    text = f'mr_gram.py: error {{"x": 1}} BadRowError: {json.dumps(fact)} in the log\n'
    hint = '' if n_bad == 8 else '; --bad-rows skip leaves such rows out'
    assert describe_bad_row(text, plan) == f'{tmp_path}/b.csv, line 14: wrong width: found 1{others}{hint}'
    assert describe_bad_row('mr_gram.py: {"file": "x"}', plan) is None


def test_the_accounts_of_packed_text_are_those_of_the_tasks_that_packed_it():
    packing = [
        {'kind': 'counts', 'place': [number, 0], 'length': SIZE, **counts(4, rejected={'x': 1})} for number in (0, 1)
    ]
    packing.append({'kind': 'rejected', 'place': [1, 0, 2], 'reason': 'x', 'detail': 'd', 'line': 'text'})
    packed = Accounts(PLAN)
    packed.keep('counts', (0, 0), {**counts(), 'packing': packing[:1]})
    packed.keep('counts', (0, 50), {**counts(), 'packing': packing[1:]})
    accounts = Accounts.of_packing(PLAN, packed)
    accounts.settle('skip')
    assert accounts.used == 6 and accounts.reasons == {'x': 2}
    assert [(row.path, row.line, row.text) for row in accounts.rejected()] == [('/d/b.csv', 3, 'text')]
    assert Accounts.of_packing(PLAN, None).counts == {}
