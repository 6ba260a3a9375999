"""The public sets: a well-formed registry, faithful conversion, and nothing written that is not right."""

import dataclasses
import gzip
import hashlib
import http.server
import re
from functools import partial
from pathlib import Path
from threading import Thread

import pytest
from reference.public_sets import demand_set

from benchmarks.__main__ import main
from benchmarks.public.convert import LAYOUTS, Recipe, plain_number, to_libsvm
from benchmarks.public.sets import DATA_SETS, download
from mr_elm.errors import DataFormatError

SAMPLE = Path(__file__).parents[2] / 'data' / 'samples' / 'twonorm.libsvm'
ORIGIN = b'x,y,class\n1.50,0,a\n.25,-3,b\n'
TEXT = b'+1 1:1.5\n-1 1:0.25 2:-3\n'
RECIPE = Recipe('delimited', {'a': '+1', 'b': '-1'}, header_lines=1)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serve files and write nothing on standard error."""

    def log_message(self, *arguments):
        """Drop a message."""


@pytest.fixture
def origin(tmp_path):
    """Serve the files of a folder on loopback; returns the folder, which knows its `url`."""
    folder = tmp_path / 'origin'
    folder.mkdir()
    handler = partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f'http://127.0.0.1:{server.server_port}'
        server.shutdown()


@pytest.fixture
def tiny(origin, monkeypatch):
    """A list of one set: the file of its origin."""
    folder, url = origin
    (folder / 'origin.csv').write_bytes(ORIGIN)
    digest = hashlib.sha256(TEXT).hexdigest()
    entry = DATA_SETS['iris']._replace(urls=[f'{url}/origin.csv'], sha256=digest, recipe=dataclasses.asdict(RECIPE))
    monkeypatch.setitem(DATA_SETS, 'tiny', entry)
    return folder / 'origin.csv'


# The list


@pytest.mark.parametrize('name', DATA_SETS)
def test_every_entry_is_well_formed(name):
    entry = DATA_SETS[name]
    assert re.fullmatch(r'[a-z0-9-]+', name)
    assert re.fullmatch(r'[0-9a-f]{64}', entry.sha256)
    for url in entry.urls:
        assert re.fullmatch(r'https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/\S+', url)
    assert entry.n_rows > 0 and entry.n_features > 0 and entry.source
    assert Recipe(**entry.recipe).layout in LAYOUTS


@pytest.mark.parametrize('name', DATA_SETS)
def test_every_entry_writes_as_many_labels_as_it_has_classes(name):
    entry = DATA_SETS[name]
    written = set(entry.recipe['classes'].values())
    numbered = {str(k) for k in range(1, entry.n_classes + 1)}
    assert written == ({'+1', '-1'} if entry.n_classes == 2 else numbered)


def test_no_two_entries_share_a_digest_or_an_origin():
    assert len({entry.sha256 for entry in DATA_SETS.values()}) == len(DATA_SETS)
    assert len({tuple(entry.urls) for entry in DATA_SETS.values()}) == len(DATA_SETS)


@pytest.mark.parametrize('name', DATA_SETS)
def test_every_entry_describes_the_prepared_file(name):
    path = demand_set(name)
    text = gzip.decompress(path.read_bytes()) if path.suffix == '.gz' else path.read_bytes()
    entry = DATA_SETS[name]
    assert hashlib.sha256(text).hexdigest() == entry.sha256
    rows = [line.split() for line in text.splitlines()]
    assert len(rows) == entry.n_rows
    assert {row[0].decode() for row in rows} == set(entry.recipe['classes'].values())
    assert max(int(row[-1].partition(b':')[0]) for row in rows if len(row) > 1) <= entry.n_features


def test_libsvm_text_that_needs_no_change_gets_none():
    text = SAMPLE.read_bytes()
    recipe = Recipe('libsvm', {'1': '1', '-1': '-1'}, label_column=0)
    assert to_libsvm(text, recipe) == text


# Conversion


@pytest.mark.parametrize(
    'text, wanted',
    [
        ('1.50', '1.5'),
        ('2.000', '2'),
        ('100', '100'),
        ('.61', '0.61'),
        ('-.5', '-0.5'),
        ('+3', '3'),
        (' 07 ', '7'),
        ('-0.00006', '-0.00006'),
        ('1e+05', '100000'),
        ('5.836679e-01', '0.5836679'),
        ('7.168048e-05', '7.168048e-05'),
        ('0', '0'),
        ('-0.00', '0'),
    ],
)
def test_a_number_keeps_its_value_and_loses_its_ornaments(text, wanted):
    assert plain_number(text) == wanted
    assert float(wanted) == float(text)


@pytest.mark.parametrize(
    'content, recipe',
    [
        (ORIGIN, RECIPE),
        (ORIGIN.replace(b'\n', b'\r\n'), RECIPE),
        (ORIGIN.rstrip(), RECIPE),
        (ORIGIN + b'\n\n', RECIPE),
        (ORIGIN + b'?,1,a\n', dataclasses.replace(RECIPE, missing='?')),
        (b'x y class\n1.50  0 a \n.25 -3  b\n', dataclasses.replace(RECIPE, delimiter=None)),
        (b'class,x,y\na,1.5,0\nb,.25,-3\n', dataclasses.replace(RECIPE, label_column=0)),
        (b'row,class,x,y\n1,a,1.5,0\n2,b,.25,-3\n', dataclasses.replace(RECIPE, label_column=0, first_column=1)),
        (ORIGIN.replace(b'-3', b'3'), dataclasses.replace(RECIPE, corrections={',3,': ',-3,'})),
        (
            b'% caf\xe9 \x85 1,2,a\n@relation r\n@DATA\n 1.5, 0,\'a\'\n% end\n.25,-3,"b"\n%\n',
            Recipe('arff', RECIPE.classes),
        ),
        (b'a 1:1.50 2:0 \nb 1:.25 2:-3 \n\n', Recipe('libsvm', RECIPE.classes, label_column=0)),
    ],
)
def test_every_layout_of_the_same_rows_gives_the_same_text(content, recipe):
    assert to_libsvm(content, recipe) == TEXT


def test_a_row_without_features_is_a_bare_label():
    assert to_libsvm(b'b\n', Recipe('libsvm', RECIPE.classes, label_column=0)) == b'-1\n'


@pytest.mark.parametrize(
    'row, reason',
    [
        (b'1,2,c', "the unknown label 'c'"),
        (b'1,two,a', "the value 'two', which is no number"),
        (b'1,nan,a', "the value 'nan', which is not finite"),
    ],
)
def test_a_row_that_does_not_fit_is_named(row, reason):
    with pytest.raises(DataFormatError, match=f'line 4 has {reason}'):
        to_libsvm(ORIGIN + row + b'\n', RECIPE)


# Download


def test_a_right_file_is_written_under_its_name(tiny, tmp_path):
    path = download('tiny', tmp_path / 'new' / 'folder')
    assert path == tmp_path / 'new' / 'folder' / 'tiny.libsvm'
    assert path.read_bytes() == TEXT
    assert [file.name for file in path.parent.iterdir()] == ['tiny.libsvm']


def test_a_right_file_already_there_is_not_fetched_again(tiny, tmp_path):
    download('tiny', tmp_path)
    tiny.unlink()
    assert download('tiny', tmp_path).read_bytes() == TEXT


def test_a_wrong_file_already_there_is_replaced(tiny, tmp_path):
    (tmp_path / 'tiny.libsvm').write_bytes(TEXT[:-4])
    assert download('tiny', tmp_path).read_bytes() == TEXT


def test_the_rows_of_several_files_follow_each_other(tiny, tmp_path, monkeypatch):
    head, first, second = ORIGIN.splitlines(keepends=True)
    for name, row in (('train.csv', first), ('test.csv', second)):
        (tiny.parent / name).write_bytes(head + row)
    urls = [DATA_SETS['tiny'].urls[0].replace('origin.csv', name) for name in ('train.csv', 'test.csv')]
    monkeypatch.setitem(DATA_SETS, 'tiny', DATA_SETS['tiny']._replace(urls=urls))
    assert download('tiny', tmp_path).read_bytes() == TEXT


@pytest.mark.parametrize(
    'content', [ORIGIN + b'1,1,a\n', ORIGIN[: ORIGIN.rindex(b'.25')], b''], ids=['other', 'cut', 'empty']
)
def test_content_with_another_digest_is_refused_naming_both(tiny, tmp_path, content):
    tiny.write_bytes(content)
    found = hashlib.sha256(to_libsvm(content, RECIPE)).hexdigest()
    with pytest.raises(DataFormatError) as caught:
        download('tiny', tmp_path / 'to')
    assert found in str(caught.value) and hashlib.sha256(TEXT).hexdigest() in str(caught.value)
    assert not (tmp_path / 'to').exists()


def test_a_file_cut_within_a_row_is_refused(tiny, tmp_path):
    tiny.write_bytes(ORIGIN[:-3])
    with pytest.raises(DataFormatError, match='line 3'):
        download('tiny', tmp_path / 'to')
    assert not (tmp_path / 'to').exists()


def test_an_origin_that_is_gone_is_told(tiny, tmp_path):
    tiny.unlink()
    with pytest.raises(OSError, match='could not fetch http.*/origin.csv: 404'):
        download('tiny', tmp_path)


# The command


def test_the_command_prints_the_path_of_each_file(tiny, tmp_path, capsys):
    main(['fetch', 'tiny', '--to', str(tmp_path)])
    assert capsys.readouterr().out == f'{tmp_path / "tiny.libsvm"}\n'


def test_the_help_names_every_set(capsys):
    with pytest.raises(SystemExit):
        main(['fetch', '--help'])
    said = capsys.readouterr().out
    assert all(name in re.sub(r'\s', '', said) for name in DATA_SETS)


def test_the_command_names_what_it_could_not_fetch(tiny, tmp_path):
    tiny.unlink()
    with pytest.raises(OSError, match='could not fetch'):
        main(['fetch', 'tiny', '--to', str(tmp_path)])


@pytest.mark.parametrize('arguments', [[], ['no-such-set'], ['--li'], ['iris', '--verbose']])
def test_wrong_usage_ends_with_exit_code_two(arguments):
    with pytest.raises(SystemExit) as caught:
        main(['fetch', *arguments])
    assert caught.value.code == 2
