"""The table of claims: races that fit into three quarters of an hour, and run; a page that says what came out."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.claims import RACES
from benchmarks.harness import FASTER, NORMAL, POINTS, QUICK, UNITS, Bench, Results, run_race
from benchmarks.pages import list_claims, write_all
from benchmarks.papers import PARTS
from benchmarks.sets import list_sets

ROOT = Path(__file__).parents[2]
MEASURED = {
    'machine': {
        'commit': 'abc1234',
        'when': '2026-01-01 10:00 UTC',
        'processor': 'P',
        'cores': '2',
        'memory': '8 GiB',
        'Python': '3.12',
        'numpy': '2',
    },
    'left_out': {'usps C 1': 'no time', 'dna C 1': 'no time'},
    'rows': [
        {
            'set': f'set-{k}',
            'setting': '',
            'rows': 100 * k,
            'features': 3,
            'classes': 2,
            'ours': [1.0] * 3,
            'theirs': [float(k)] * 3,
            'our_scores': [],
            'their_scores': [],
            'others': 0.0,
        }
        for k in range(2, 12)
    ],
}


def test_all_races_fit_into_three_quarters_of_an_hour():
    assert sum(race.minutes for race in RACES) <= 40  # a case that has begun ends after them
    assert len({race.name for race in RACES}) == len(RACES) and {race.unit for race in RACES} <= set(UNITS)


@pytest.mark.parametrize(
    'race',
    [race for race in RACES if race.name not in ('cores', 'memory', 'update', 'threads')],
    ids=lambda race: race.name,
)
@pytest.mark.usefixtures('commands_here')
def test_a_race_runs_on_few_rows(race, tmp_path, monkeypatch):
    monkeypatch.delenv('MR_ELM_DATA', raising=False)
    monkeypatch.setattr('benchmarks.cases.commands.L', 20)
    monkeypatch.setattr('benchmarks.cases.machines.OURS', ('sparse ELM',))
    results = Results(tmp_path / 'race.json')
    run_race(race, Bench(QUICK, str(tmp_path)), results)
    cases = list(race.cases(Bench(QUICK, str(tmp_path))))
    assert len(results.rows) >= 1 and len(results.rows) + len(results.left_out) == len(cases)
    assert all(reason.startswith('No module named') for reason in results.left_out.values())
    for aim in race.aims:
        value = aim.value(results.rows)
        assert value is None or aim.kind == POINTS or value > 0


def test_solvers_meet_svc_on_every_set_at_every_setting():
    race = next(race for race in RACES if race.name == 'sparse-elm')
    cases = list(race.cases(Bench(NORMAL, '.')))
    assert len(cases) == 4 * len(list_sets()) == 4 * 48
    assert len({case.setting for case in cases}) == 4


def test_a_name_that_is_not_known_is_refused(tmp_path):
    for command in ('bench', 'papers'):
        with pytest.raises(ValueError, match='expected one of .* found'):
            main([command, str(tmp_path), 'nothing'])


@pytest.fixture
def pages(tmp_path):
    """Write the pages of one measured race; returns their folder."""
    (tmp_path / 'bench').mkdir()
    (tmp_path / 'bench' / 'sparse-elm.json').write_text(json.dumps(MEASURED))
    write_all([tmp_path / 'bench'], tmp_path / 'pages')
    return tmp_path / 'pages'


def test_a_page_tells_value_wanted_figure_verdict_trials_rows_and_what_is_left_out(pages):
    text = (pages / 'speed.md').read_text()
    value = (2 * 3 * 4 * 5 * 6 * 7 * 8 * 9 * 10 * 11) ** 0.1
    assert f'| {value:.2f} {FASTER} | at least 2 | met |' in text
    assert '10 cases of 200 to 1,100 rows, 3 trials; processor seconds' in text
    assert '2 cases: no time' in text and json.loads((pages / 'data' / 'sparse-elm.json').read_text()) == MEASURED
    assert 'abc1234' in (pages / 'index.md').read_text()


def test_the_slowest_five_are_the_slowest_five(pages):
    text = (pages / 'speed.md').read_text()
    assert '2.00 on set-2; 3.00 on set-3; 4.00 on set-4; 5.00 on set-5; 6.00 on set-6 |' in text


def test_what_was_not_measured_says_so(pages):
    assert (
        '| map | a map task is as fast as a script |  | at most 1.25 | not yet measured |'
        in (pages / 'speed.md').read_text()
    )
    assert (pages / 'papers.md').read_text().count('\n\nNot yet measured.') == len(PARTS)


def test_the_figure_has_a_line_for_each_claim_that_was_measured(pages):
    found = {race.name: Results.read(pages / 'data' / f'{race.name}.json') for race in RACES}
    (claim,) = list_claims(found, FASTER)
    assert claim[0].startswith('sparse ELM by block') and claim[0].endswith(' against SVC') and claim[2] == 'met'
    assert claim[1] == pytest.approx([2, (2 * 3 * 4 * 5 * 6 * 7 * 8 * 9 * 10 * 11) ** 0.1, 11])
    assert list_claims(found, POINTS) == [] and (pages / 'claims.png').read_bytes().startswith(b'\x89PNG')


def test_the_pages_of_this_checkout_are_written_from_their_data_and_short(tmp_path, monkeypatch):
    """So no number on them is typed by hand. Their figures are not compared, and drawing them takes long."""
    monkeypatch.setattr('matplotlib.figure.Figure.savefig', lambda figure, path, **_: Path(path).touch())
    here = ROOT / 'docs' / 'results'
    write_all([here / 'data'], tmp_path / 'pages')
    for page in here.glob('*.md'):
        assert (tmp_path / 'pages' / page.name).read_text() == page.read_text(), f'{page.name}: run `make results`'
    assert sum(page.read_text().count('\n') for page in here.glob('*.md')) <= 300
