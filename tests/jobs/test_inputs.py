"""Which files a user's words mean, and how they are cut into splits."""

import bz2
import gzip
import os

import pytest

from mr_elm.errors import DataFormatError
from mr_elm.rows.hdfs import open_web_hdfs
from mr_elm.rows.inputs import plan_inputs
from mr_elm.rows.options import RowOptions
from mr_elm.rows.remote import RemoteStore
from mr_elm.rows.splits import plan_splits, read_stream
from mr_elm.rows.storage import expand_patterns

ROWS = '1,2,3\n2,3,4\n'


def plan_of(*paths, **options):
    return plan_inputs([str(path) for path in paths], RowOptions(**options))


def paths_of(words):
    return [entry.path for entry in expand_patterns(words)]


def names(paths):
    return [os.path.basename(path) for path in paths]


# Files, folders, globs


def test_a_folder_gives_its_files_sorted_without_those_that_hadoop_hides(write, tmp_path):
    for name in ('d/part-00001', 'd/part-00000', 'd/_SUCCESS', 'd/.part-00000.crc', 'd/_logs/x', 'd/.git/y', 'd/e/a'):
        write(name, ROWS)
    assert [os.path.relpath(path, tmp_path) for path in paths_of([str(tmp_path / 'd')])] == [
        'd/e/a',
        'd/part-00000',
        'd/part-00001',
    ]


def test_the_order_of_the_words_and_repetitions_do_not_matter(write, tmp_path):
    a, b = write('a.csv', ROWS), write('b.csv', ROWS)
    assert paths_of([str(b), str(a), str(tmp_path), str(tmp_path / '*.csv'), str(a)]) == [str(a), str(b)]


def test_relative_words_mean_the_same_files(write, tmp_path, monkeypatch):
    a = write('a.csv', ROWS)
    monkeypatch.chdir(tmp_path)
    assert paths_of(['a.csv', './a.csv', str(a)]) == [str(a)]


@pytest.mark.parametrize('name', ['rows[1].csv', 'rows*.csv', 'row?.csv', '$(touch x).csv'])
def test_a_name_that_exists_is_never_a_pattern(write, tmp_path, name):
    path = write(name, ROWS)
    write('rows1.csv', ROWS)
    assert paths_of([str(path)]) == [str(path)]


def test_a_link_to_nothing_that_a_pattern_matches_is_named(tmp_path):
    (tmp_path / 'a.csv').symlink_to(tmp_path / 'gone')
    with pytest.raises(FileNotFoundError, match='a.csv: expected an input file, found a link to a missing file'):
        paths_of([str(tmp_path / '*.csv')])


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match='nothing-.*input file'):
        paths_of([str(tmp_path / 'nothing-*.csv')])


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(DataFormatError, match='expected input files, found none in the folder'):
        paths_of([str(tmp_path)])


def test_the_output_of_an_unfinished_job_is_refused(write, tmp_path):
    write('d/part-00000', ROWS)
    write('d/_temporary/0/part-00001', ROWS)
    with pytest.raises(DataFormatError, match='_temporary'):
        paths_of([str(tmp_path / 'd')])


def test_a_pipe_is_refused_instead_of_being_waited_for(tmp_path):
    os.mkfifo(tmp_path / 'pipe')
    with pytest.raises(DataFormatError, match='pipe.*cannot be read twice'):
        plan_of(tmp_path / 'pipe')


# What the files hold


def test_empty_files_of_a_folder_are_left_out(write, tmp_path):
    for name, text in (('a', ROWS), ('b', ''), ('c', '\n \n'), ('d', ROWS)):
        write(f'f/{name}', text)
    assert names(file.path for file in plan_of(tmp_path / 'f').files) == ['a', 'd']


@pytest.mark.parametrize('content', [b'', b'\n\r\n\n', gzip.compress(b'')], ids=['empty', 'blank', 'compressed'])
def test_a_data_set_without_any_line_is_refused(write, content):
    path = write('empty.csv.gz' if content[:1] == b'\x1f' else 'empty.csv', content)
    with pytest.raises(DataFormatError, match=r'empty\.csv.*empty'):
        plan_of(path)


def test_files_of_two_kinds_are_refused(write):
    a, b = write('a.csv', ROWS), write('b.libsvm', '1 1:2\n')
    with pytest.raises(DataFormatError, match=r'b\.libsvm: expected csv rows'):
        plan_of(a, b)


def test_csv_files_of_two_widths_are_refused(write):
    a, b = write('a.csv', ROWS), write('b.csv', '1,2\n2,3\n')
    with pytest.raises(DataFormatError, match=r'b\.csv: expected 3 fields .*, found 2'):
        plan_of(a, b)


def test_each_file_may_have_a_header_and_a_delimiter_of_its_own(write):
    plan = plan_of(write('a.csv', 'y,u,v\n' + ROWS), write('b.csv', ROWS.replace(',', ';')))
    assert [(file.format.header, file.format.delimiter) for file in plan.files] == [(True, ','), (False, ';')]


# Splits


def naive_lines(data, start, length):
    """List the lines of a split by Hadoop's rule: it owns those that begin behind start and not behind its end."""
    begins = [0, *(i + 1 for i, byte in enumerate(data) if byte == 10 and i + 1 < len(data))]
    ends = [*begins[1:], len(data)]
    return [data[a:b] for a, b in zip(begins, ends, strict=True) if (a > start or start == 0) and a <= start + length]


@pytest.mark.parametrize('n_maps', [1, 2, 3, 7, 40])
def test_splits_cover_every_byte_once_in_order(write, n_maps):
    plan = plan_of(write('a.csv', ROWS * 50), write('b.csv', ROWS * 3), write('c.csv', ROWS * 170))
    tasks = plan_splits(plan, n_maps)
    assert 1 <= len(tasks) <= n_maps
    place = [0, 0]
    for number, start, length in (split for task in tasks for split in task):
        if number != place[0]:
            assert place[1] == plan.files[place[0]].size
            place = [place[0] + 1, 0]
        assert [number, start] == place and length > 0
        place[1] += length
    assert place == [2, plan.files[2].size]


def test_tasks_are_of_about_equal_size(write):
    plan = plan_of(write('a.csv', ROWS * 100), write('b.csv', ROWS * 33))
    sizes = [sum(length for _, _, length in task) for task in plan_splits(plan, 4)]
    assert len(sizes) == 4 and max(sizes) - min(sizes) <= 4


@pytest.mark.parametrize('n_maps', [1, 2, 3, 5, 11, 200])
@pytest.mark.parametrize('end', ['\n', '\r\n', ''])
def test_every_line_is_read_by_exactly_one_split(write, n_maps, end):
    lines = [f'{i % 2},{"9" * (i % 13 + 1)}' for i in range(60)]
    path = write('a.csv', (end or '\n').join(lines) + end)
    plan, data = plan_of(path), path.read_bytes()
    pieces = []
    for _, start, length in (split for task in plan_splits(plan, n_maps) for split in task):
        with open(path, 'rb') as stream:
            piece = b''.join(read_stream(stream, str(path), start, length))
        assert piece == b''.join(naive_lines(data, start, length))
        pieces.append(piece)
    assert b''.join(pieces) == data


@pytest.mark.parametrize(('ending', 'compress'), [('gz', gzip.compress), ('bz2', bz2.compress)])
def test_compressed_files_are_never_cut(write, ending, compress):
    plan = plan_of(write(f'a.csv.{ending}', compress(ROWS.encode() * 5000)), write('b.csv', ROWS * 40))
    splits = [split for task in plan_splits(plan, 9) for split in task]
    assert [split for split in splits if split[0] == 0] == [[0, 0, plan.files[0].size]]


def here():
    """Return the HDFS of a cluster that is down."""
    return RemoteStore(*open_web_hdfs({'fs.defaultFS': 'hdfs://here:9000', 'dfs.namenode.http-address': '127.0.0.1:1'}))


@pytest.mark.parametrize('path', ['hdfs://data/rows.csv', 'hdfs://other:8020/rows.csv'])
def test_a_path_on_another_cluster_is_refused_and_not_looked_for_on_this_one(path):
    with pytest.raises(OSError, match=f'{path}: expected a path on hdfs://here:9000'):
        here().find(path)


@pytest.mark.parametrize('path', ['hdfs:///rows.csv', 'hdfs://here/rows.csv', 'hdfs://here:9000/rows?.csv'])
def test_a_path_of_this_cluster_is_asked_for(path):
    with pytest.raises(OSError, match='HDFS does not answer'):
        here().find(path)
