"""The comparison of what is printed with the manual: it finds wrong numbers, speeds and rows on a border may differ."""

import pytest
from reference.console import differences

TRAINED = """statistics: 1,300 rows, 0.2 MB in 0.1 s, 5.0 MB/s
Gram: 1,300 rows, 0.2 MB in 0.3 s, 0.8 MB/s
solved 101 unknowns, condition about 4.9e+06
m.npz: 1,300 rows, 64 features, 100 hidden nodes
"""
SCORES = """accuracy   0.940000
rows       100
balanced_accuracy 0.938889
matthews   0.909642

       class  precision     recall       rows
           3     0.9744     0.9500         40
           5     0.8750     0.9333         30
           7     0.9655     0.9333         30

rows of a true class (down) by predicted class (across)
    3  5  7
 3 38  2  0
 5  1 28  1
 7  0  2 28
"""
ONE_ROW_MORE_RIGHT = """accuracy   0.950000
rows       100
balanced_accuracy 0.947222
matthews   0.924382

       class  precision     recall       rows
           3     0.9750     0.9750         40
           5     0.9032     0.9333         30
           7     0.9655     0.9333         30

rows of a true class (down) by predicted class (across)
    3  5  7
 3 39  1  0
 5  1 28  1
 7  0  2 28
"""
FOUR_ROWS_CHANGE_PLACES = """accuracy   0.930000
rows       100
balanced_accuracy 0.930556
matthews   0.893915

       class  precision     recall       rows
           3     0.9024     0.9250         40
           5     0.9333     0.9333         30
           7     0.9655     0.9333         30

rows of a true class (down) by predicted class (across)
    3  5  7
 3 37  2  1
 5  2 28  0
 7  2  0 28
"""


@pytest.mark.parametrize('text', ['', '0\n4\n4\n', TRAINED, SCORES, TRAINED + SCORES])
def test_a_text_is_as_it_is(text):
    assert differences(text, text) == []


@pytest.mark.parametrize(
    'shown, printed',
    [('in 0.3 s, 0.8 MB/s', 'in 12.5 s, 1,000.1 MB/s'), ('condition about 4.9e+06', 'condition about 7.3e+06')],
)
def test_what_differs_between_machines_may_differ(shown, printed):
    assert shown in TRAINED
    assert differences(TRAINED, TRAINED.replace(shown, printed)) == []


@pytest.mark.parametrize(
    'shown, printed, n_differences',
    [
        ('219.06998568351437\t-1e-3', '219.06998568354\t-1e-3', 0),
        ('0.12345678901234567', '0.12345678901234599', 0),
        ('219.06998568351437', '219.0699866', 1),
        ('0.12345678901234567', '0.123456788', 1),
        ('1.5', '1.5000000001', 1),
        ('12345678901234567', '1234567890123456', 1),
    ],
)
def test_only_the_last_of_all_digits_may_differ(shown, printed, n_differences):
    assert len(differences(shown, printed)) == n_differences


@pytest.mark.parametrize(
    'shown, printed',
    [
        ('statistics: 1,300 rows', 'statistics: 1,299 rows'),
        ('Gram: 1,300 rows', 'Gram: 1,301 rows'),
        ('0.2 MB in 0.1', '0.3 MB in 0.1'),
        ('101 unknowns', '100 unknowns'),
        ('64 features', '63 features'),
        ('100 hidden', '101 hidden'),
        ('about 4.9e+06', 'about 1.1e+07'),
        ('about 4.9e+06', 'about 4.9e+05'),
        ('hidden nodes', 'hidden rows'),
        ('Gram: ', 'Gram:\n'),
    ],
)
def test_a_wrong_count_or_word_of_the_progress_is_found(shown, printed):
    assert shown in TRAINED
    other = TRAINED.replace(shown, printed)
    assert differences(TRAINED, other) and differences(other, TRAINED)


@pytest.mark.parametrize(
    'shown, printed',
    [
        ('0.940000', '0.123456'),
        ('0.940000', '0.919000'),
        ('0.940000', '0.950000'),
        ('rows       100', 'rows       101'),
        ('0.9744', '0.9644'),
        ('balanced_accuracy 0.9', 'balanced_accuracy 0.8'),
        ('matthews   0.9', 'matthews   0.8'),
        ('0.9333         30\n           7', '0.9233         30\n           7'),
        ('0.9500         40', '0.9500         41'),
        ('           5     0.8750', '           6     0.8750'),
        (' 3 38  2  0\n 5  1 28  1\n', ' 3  1 28  1\n 5 38  2  0\n'),
        (' 3 38  2  0\n 5  1 28  1\n', ' 5  1 28  1\n 3 38  2  0\n'),
        (' 3 38  2  0', ' 3 37  2  0'),
        (' 3 38  2  0', ' 3 38  1  1'),
        ('    3  5  7\n', '    3  7  5\n'),
    ],
)
def test_a_wrong_score_is_found_wherever_it_stands(shown, printed):
    assert shown in SCORES
    other = SCORES.replace(shown, printed)
    assert differences(SCORES, other) and differences(other, SCORES)


@pytest.mark.parametrize(
    'shown, printed',
    [
        ('    3  5  7\n', '    3  7  5\n'),
        (' 3 38  2  0', ' 3 37  2  0'),
        ('0.9744', '0.9644'),
        ('0.940000', '0.950000'),
    ],
)
def test_scores_that_contradict_each_other_are_found_where_manual_and_program_agree(shown, printed):
    other = SCORES.replace(shown, printed)
    assert differences(other, other)


@pytest.mark.parametrize('shown', ['accuracy   0.940000\n', 'class  precision  rows\n    3     0.940000    40\n'])
def test_scores_without_a_matrix_may_differ_by_two_points(shown):
    assert differences(shown, shown.replace('0.940000', '0.922000')) == []
    assert differences(shown, shown.replace('0.940000', '0.918000'))


def test_a_row_on_the_border_may_get_another_label():
    assert differences(SCORES, ONE_ROW_MORE_RIGHT) == differences(ONE_ROW_MORE_RIGHT, SCORES) == []


def test_more_rows_with_other_labels_than_the_accuracy_allows_are_found():
    assert len(differences(SCORES, FOUR_ROWS_CHANGE_PLACES)) == 1


def test_a_label_that_stands_alone_is_exact():
    assert differences('0\n4\n4\n', '0\n4\n9\n')
