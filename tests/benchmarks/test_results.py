"""The pages of results: functions of the data beside them, with verdicts that the rules of the code give."""
import json
import re
from dataclasses import asdict

import pytest
from reference.manual import ROOT, read_page
from reference.scale_runs import run_of

from benchmarks.bench.__main__ import PARTS
from benchmarks.machine import describe
from benchmarks.results.__main__ import main
from benchmarks.results.pages import PAGES, replace_quotation, summarise_speed
from benchmarks.results.parts import ABOUT
from benchmarks.results.store import COPIED, Measured
from benchmarks.scaling.runs import write_runs
from benchmarks.verdict import FASTER, Claim

RESULTS = ROOT / 'docs' / 'results'
WHEN = {'abc': '2026-01-01 10:00 UTC', 'def': '2026-01-02 10:00 UTC'}
FIGURES = re.compile(r'!\[([^]]+)\]\(([^)]+)\)')


def write_part(folder, name, commit):
    """Write bench.json of one part with one claim."""
    claim = Claim('fit', 2.0, FASTER, [[1.0, 1.0], [2.0, 2.0]], group='ours : peer')
    machine = {**describe(), 'commit': commit, 'when': WHEN[commit], 'load': '0.5'}
    (folder / 'bench.json').write_text(json.dumps({name: {'size': 'normal', 'seconds': 1.0, 'machine': machine,
                                                          'rows': [asdict(claim)]}}))


@pytest.mark.parametrize('name', PAGES)
def test_a_page_is_what_the_generator_writes_from_the_data_beside_it(name):
    page = (RESULTS / name).read_text(encoding='utf-8')
    assert page == PAGES[name](Measured.read(RESULTS / 'data')), 'run `make results`'
    assert 'make results' in page.splitlines()[2]


def test_a_sentence_says_what_each_part_compares():
    assert set(ABOUT) == set(PARTS)


def test_every_part_that_was_measured_is_on_the_page_of_speed():
    page, measured = read_page('docs/results/speed.md'), Measured.read(RESULTS / 'data')
    assert [name for name in measured.bench if f'\n### {name}\n' not in page] == []


def test_the_readme_quotes_the_table_of_speeds():
    table = summarise_speed(Measured.read(RESULTS / 'data').groups())
    readme = read_page('README.md')
    assert f'\n{table}\n' in readme and replace_quotation(readme, table) == readme, 'run `make results`'


def test_every_figure_is_there_small_and_described():
    shown = [found for name in PAGES for found in FIGURES.findall((RESULTS / name).read_text(encoding='utf-8'))]
    assert {'speed.svg', 'accuracy.svg', 'boundaries.png'} <= {figure for _, figure in shown}
    for text, figure in shown:
        assert len(text) > 30 and (RESULTS / figure).stat().st_size < 200_000
    drawn = {path.name for pattern in ('*.svg', '*.png') for path in RESULTS.glob(pattern)}
    assert drawn == {figure for _, figure in shown}


def test_pages_name_no_folder_of_the_machine_that_measured():
    for path in (*RESULTS.glob('*.md'), *RESULTS.glob('data/*')):
        assert not re.search(r'/(home|root|tmp|work)/', path.read_text(encoding='utf-8')), path


def test_new_data_take_the_place_of_old_and_what_was_not_measured_again_stays(tmp_path):
    (tmp_path / 'build').mkdir()
    main(str(tmp_path / 'build'), str(tmp_path / 'docs'))
    write_part(tmp_path / 'build', 'kelm/fit', 'abc')
    write_runs(tmp_path / 'build' / 'speedup.csv', [run_of(), run_of(nodes=2, seconds=6.0)])
    main(str(tmp_path / 'build'), str(tmp_path / 'docs'))
    write_part(tmp_path / 'build', 'dual/a9a', 'def')
    (tmp_path / 'build' / 'speedup.csv').unlink()
    main(str(tmp_path / 'build'), str(tmp_path / 'docs'))
    speed, scaling = ((tmp_path / 'docs' / name).read_text() for name in ('speed.md', 'scaling.md'))
    assert '### dual/a9a' in speed and '### kelm/fit' in speed and 'hadoop/bare' in speed.partition('Not measured: ')[2]
    assert 'commit def, 2026-01-02 10:00 UTC, load 0.5.' in ' '.join(speed.split())
    assert 'commit abc, 2026-01-01 10:00 UTC, load 0.5 (another commit).' in ' '.join(speed.split())
    assert '| speedup(2), pesvm, local, 100 rows, d = 4, L = 6 | 1.67 | at least 1.6 | unsteady |' in scaling
    assert (tmp_path / 'docs' / 'speedup.png').exists() and 'speedup.csv' in COPIED
