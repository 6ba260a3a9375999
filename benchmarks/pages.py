"""Write the pages of what was measured from the data beside them, never by hand."""

import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill

from benchmarks.claims import RACES
from benchmarks.harness import (
    EVEN,
    FASTER,
    IS_EVEN,
    MET,
    MISSED,
    POINTS,
    SHARE,
    STEADY,
    UNKNOWN,
    UNSTEADY,
    Aim,
    Race,
    Results,
)
from benchmarks.machine import describe_in_a_line
from benchmarks.papers import PARTS, Part
from benchmarks.tables import tabulate, write_table
from mr_elm.figures.figure import open_figure

WIDTH = 120
SLOWEST = 5
HEAD = '*`make results` writes this page from `docs/results/data`. Do not edit it: the next run overwrites it.*'
BLUE, RED = '#3b7dd8', '#d1495b'
RULES = (
    'Both sides of a race get the same rows, and run in turn and equally often. One run of each comes first and does '
    'not count, but for races that count right labels or memory, `cores` and `auto`. "Times faster" is the least time'
    ' of the second side divided by the least time of the first one. "Ours / theirs" is the inverse. Both are '
    'geometric means over all cases, a case being a data set at a setting. "Points above" is the accuracy of the '
    'first side less that of the second, in percent of the rows, the mean over the cases. Times are processor '
    'seconds, user and system, of one thread; `mr-elm pack` uses all cores. Rows are those of a set, of which '
    'accuracy and boosting train on a half.',
    f'* *{MET}*: the value reaches the wanted figure. **{MISSED}**: it does not.\n'
    f'* *{IS_EVEN}*: the figure is to be as fast, and neither side is faster by a factor of {EVEN:g}.\n'
    f'* *{UNSTEADY}*: the value would do, but that of one trial is more than {STEADY:.0%} above that of another, or '
    'other programs used more than half of the cores.\n'
    f'* *{UNKNOWN}*: `make bench` has not run since the race was written.',
)


def write_all(sources: Iterable[Path], pages: Path) -> None:
    """Take over the results in some folders, write all pages, and draw the figure of the README."""
    data = pages / 'data'
    data.mkdir(parents=True, exist_ok=True)
    names = [race.name for race in RACES] + [f'papers-{name}' for name in PARTS]
    for source in sources:
        for name in names:
            if (source / f'{name}.json').exists():
                shutil.copyfile(source / f'{name}.json', data / f'{name}.json')
    found = {race.name: Results.read(data / f'{race.name}.json') for race in RACES}
    write_page(pages / 'index.md', 'Results', write_index(found))
    write_page(pages / 'speed.md', 'Speed', write_races(found, (FASTER, SHARE)))
    write_page(pages / 'accuracy.md', 'Accuracy', write_races(found, (POINTS,)))
    write_page(pages / 'papers.md', 'The experiments of the papers', write_parts(pages))
    draw_claims(found, pages / 'claims.png')


def write_page(path: Path, title: str, paragraphs: list[str]) -> None:
    """Write a page, its paragraphs wrapped but for tables and figures."""
    texts = [f'# {title}', HEAD, *(wrap(text) for text in paragraphs if text)]
    path.write_text('\n\n'.join(texts) + '\n', encoding='utf-8')


def wrap(text: str) -> str:
    """Break the lines of a text, but not those of tables, figures and titles."""
    lines = []
    for line in text.split('\n'):
        if line[:1] not in ('|', '!', '#'):
            line = fill(
                line,
                WIDTH,
                subsequent_indent='  ' * line.startswith('* '),
                break_long_words=False,
                break_on_hyphens=False,
            )
        lines.append(line)
    return '\n'.join(lines)


def write_index(found: dict[str, Results]) -> list[str]:
    """Write the page that leads to the others: the rules, the machines, and every claim with its verdict."""
    machines: dict[str, list[str]] = {}
    for name, results in found.items():
        if results.rows:
            machines.setdefault(describe_in_a_line(results.machine), []).append(name)
    places = [f'* {machine}: {", ".join(names)}.' for machine, names in machines.items()]
    links = (
        '* [Speed](speed.md) and [accuracy](accuracy.md): each claim, its race and its data. `make bench` '
        'measures them in less than 45 minutes on two cores; `make results` writes the pages.\n'
        '* [The experiments of the papers](papers.md). `make papers` runs them.'
    )
    newest = max(
        (results.machine for results in found.values() if results.rows), key=lambda each: each['when'], default={}
    )
    versions = ', '.join(
        f'{name} {text}'
        for name, text in newest.items()
        if name not in ('commit', 'when', 'processor', 'cores', 'memory')
    )
    return [
        links,
        *RULES,
        '## Machines',
        '\n'.join(places) or 'Nothing was measured yet.',
        f'Software of the newest race: {versions}.' if versions else '',
        'Random numbers begin at seed 0, those of a trial at its number, generated rows at 1.',
    ]


def write_races(found: dict[str, Results], kinds: tuple[str, ...]) -> list[str]:
    """Write a page of claims: a table of them, and what each race does."""
    shown = [(race, [aim for aim in race.aims if aim.kind in kinds]) for race in RACES]
    rows = [
        [
            f'[{race.name}](data/{race.name}.json)' if found[race.name].rows else race.name,
            aim.text,
            *write_value(aim, found[race.name].rows),
        ]
        for race, aims in shown
        for aim in aims
    ]
    races = [describe_race(race, found[race.name], aims[0]) for race, aims in shown if aims]
    return [
        write_table(('race', 'claim', 'measured', 'wanted', 'verdict'), rows),
        'The [rules](index.md) say what the numbers and verdicts mean. The name of a race leads to its data: every '
        'case with all its runs.',
        write_table(
            ('race', 'first side', 'second side', 'what they do', 'measured on', 'worst five cases', 'left out'), races
        ),
    ]


def write_value(aim: Aim, rows: list[dict]) -> list[str]:
    """Write the cells of a claim: what was measured, what is wanted, and the verdict."""
    value, verdict = aim.value(rows), aim.verdict(rows)
    wanted = f'at {"most" if aim.kind == SHARE else "least"} {aim.wanted:g}'
    return [
        '' if value is None else f'{value:.2f} {aim.kind}',
        wanted,
        f'**{verdict}**' if verdict == MISSED else verdict,
    ]


def describe_race(race: Race, results: Results, aim: Aim) -> list[str]:
    """Write the cells of a race: its sides, what they do, on how much, where it is slowest, and what is left out."""
    scale = worst = ''
    rows = results.rows
    if rows:
        sizes = [row['rows'] for row in rows]
        scale = (
            f'{len(rows)} cases of {min(sizes):,} to {max(sizes):,} rows, {len(rows[0]["ours"])} trials; {race.unit}'
        )
        ordered = sorted(rows, key=aim.value_of, reverse=aim.kind == SHARE)[:SLOWEST]
        worst = '; '.join(f'{aim.value_of(row):.2f} on {row["set"]} {row["setting"]}'.strip() for row in ordered)
    left_out = [f'{count} cases: {reason}' for reason, count in Counter(results.left_out.values()).items()]
    return [race.name, race.ours, race.theirs, race.what, scale, worst, '; '.join(left_out)]


def list_claims(found: dict[str, Results], kind: str) -> list[tuple[str, list[float], str]]:
    """List (what is compared, the [least, mean, most value over the cases], verdict) a claim."""
    claims = []
    for race in RACES:
        for aim in race.aims:
            rows = found[race.name].rows
            values, mean = [aim.value_of(row) for row in aim.select(rows)], aim.value(rows)
            if aim.kind == kind and mean is not None:
                sides = (race.ours, aim.setting or race.theirs) if race.name != 'accuracy' else (aim.setting, 'SVC')
                name = ' against '.join(sides).replace('`', '')
                claims.append((name, [min(values), mean, max(values)], aim.verdict(rows)))
    return claims


def draw_claims(found: dict[str, Results], path: Path) -> None:
    """Draw how much faster and more accurate we are than others, a line a claim."""
    claims = {kind: list_claims(found, kind) for kind in (FASTER, POINTS)}
    heights = [max(len(each), 1) for each in claims.values()]
    with open_figure(path, rows=2, figsize=(9, 0.28 * sum(heights) + 1.5), height_ratios=heights) as (_, axes):
        for panel, (kind, lines) in zip(axes, claims.items(), strict=True):
            for height, (_, (least, mean, most), verdict) in enumerate(lines):
                colour = RED if verdict == MISSED else BLUE
                panel.plot([least, most], [height] * 2, color=colour, alpha=0.4, linewidth=4)
                panel.plot(mean, height, 'o', color=colour)
                panel.annotate(
                    f'{mean:.2f}, {verdict}', (1.01, height), xycoords=('axes fraction', 'data'), va='center'
                )
            panel.axvline(kind == FASTER, color='grey')
            panel.set(
                yticks=range(len(lines)),
                yticklabels=[name for name, *_ in lines],
                xlabel=f'{kind}: least, mean and most over data sets',
            )
            panel.invert_yaxis()
        axes[0].set_xscale('log')
        axes[0].xaxis.set_major_formatter('{x:g}')


def write_parts(pages: Path) -> list[str]:
    """Write the page of the papers' experiments, a section a part, and their figures."""
    paragraphs = [
        '`make papers` runs these parts, or one by `make papers PART=NAME`; a run that was stopped goes on '
        'where it was. Each part says what the paper claims or what is drawn, and, where it was measured, our numbers.'
    ]
    for name, part in PARTS.items():
        results = Results.read(pages / 'data' / f'papers-{name}.json')
        paragraphs += [f'## {name}', part.what, *describe_part(part, results, pages)]
    return paragraphs


def describe_part(part: Part, results: Results, folder: Path) -> list[str]:
    """Return the paragraphs of a page about a part, which has its figures in a folder."""
    if not results.rows:
        return ['Not yet measured.']
    paragraphs = [f'Measured on {describe_in_a_line(results.machine)}.']
    if part.keys:
        paragraphs.append(tabulate(part.keys, part.columns, part.over, results.rows))
    paragraphs += part.show(results.rows, folder)
    if results.left_out:
        paragraphs.append('Left out: ' + '; '.join(f'{name} ({why})' for name, why in results.left_out.items()) + '.')
    return paragraphs
