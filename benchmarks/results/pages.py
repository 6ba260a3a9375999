"""Write the pages of what was measured: each is a function of the data alone."""
from collections.abc import Iterable
from statistics import median
from textwrap import fill

from benchmarks.bench.__main__ import PARTS, TOPICS
from benchmarks.bench.context import FULL, QUICK
from benchmarks.machine import HARDWARE, PASSING, describe_difference, describe_in_a_line, list_machines
from benchmarks.results.parts import ABOUT
from benchmarks.results.store import FIGURES, TABLES, Measured
from benchmarks.scaling.forecast_report import tabulate_errors
from benchmarks.scaling.report import describe_runs, write_row
from benchmarks.scaling.simulate import ERROR
from benchmarks.tables.sparse_elm_figures import show_all
from benchmarks.verdict import RULES, VERDICTS, Claim, count_verdicts, tabulate

WIDTH = 120
HEAD = '*`make results` writes this page from `docs/results/data`. Do not edit it: the next run overwrites it.*'
TITLES = {'pesvm': 'PESVM', 'passes': 'PESVM by passes', 'dual': 'Sparse ELM and OELM', 'sphere': 'SphereSVM',
          'kelm': 'Kernel ELM', 'auto': 'Choosing parameters, and updates', 'probabilities': 'Probabilities',
          'threads': 'On several cores in one process', 'spark': 'On Spark', 'hadoop': 'On Hadoop'}
MARKS = '<!-- `make results` writes this table -->', '<!-- end of the table -->'
SPEED_TEXT = ('how many times faster each method trains than its peers (other programs or solvers), on a logarithmic '
              'scale: a dot for each data set, hollow if the runs were not steady; a bar shows the median, and the '
              'line at 1 means equal times')
ACCURACY_TEXT = ('the accuracy of each method minus the accuracy of a peer, in points: a dot for each data set; a bar '
                 'shows the median, and the line at 0 means equal accuracies')
BOUNDARIES_TEXT = 'the boundary that each method draws between two tangled classes, with its accuracy'
COUNTS_TEXT = ('For each data set, we subtract the accuracy of the second method from the accuracy of the first one. '
               'The differences are in points; one point is one percent of the rows. The last three columns show on '
               'how many sets the first method is more accurate (ahead), equally accurate, or less accurate (behind).')
TABLE_TEXT = ('In a table of accuracies, a cell shows the mean of the trials and, after ±, their standard deviation. '
              'The best mean of a set is bold. An empty cell means that the method was not measured on this set, or '
              'that its model has no support vectors. The lines after the last set use only the sets on which all '
              'methods were measured; a sum counts one trial of each set. For the rank, the most accurate method of a '
              'set has place 1, the next one place 2, and so on; "mean rank" is the mean of these places. In a table '
              'of verdicts, a negative difference means that our method is more accurate than the peer.')
SPEED_COUNTS_TEXT = ('"Times faster" is the time of the second method divided by the time of the first one. If it is '
                     'above 1, the first method is faster. Each data set gives one value; for the rules of `oelm`, '
                     'each data set and each C gives one. The last four columns show how many values have each '
                     'verdict.')
SIMULATION = ('`make simulate` predicts the time of a training on a larger cluster. Its cost model is fitted '
              'to measured runs. We check it with the runs on this page: for each setting (nodes, rows, map tasks), we '
              'fit the model to the runs of all other settings and predict the seconds of this setting. The error is '
              'the difference from the measured seconds, relative to them. The target is a median error of at most '
              f'{ERROR:.0%}. "Fitted" is the same for a model that knows all settings.')
SEEDS = {
    'random nodes and landmarks': '0; in the tables of accuracy, the number of the trial',
    'generated rows': '1; rows of an update: 2; comparison of the kernel ELM with bare arithmetic: 0 and 1',
    'division of the rows into halves': 'the number of the trial',
    'outer folds (each outer fold is the test set once)': '0',
    'folds of a search for parameters': '0 in the benchmark, where a hash of the seed and the row decides the fold of '
    'the row; the tables of accuracy use folds of scikit-learn, which need no seed',
    'samples of large sets, and the rows on which parameters are chosen': '0'}
SIZES = {QUICK: ', with few rows (`make bench-quick`)', FULL: ', with all rows (`make bench-full`)'}
COMMANDS = {'speed': '`make bench`; for the part on Hadoop, `make bench-hadoop`',
            'accuracy': '`make tables table-sparse-elm table-sparse-elm-paper table-sphere-svm table-boosting '
                        'table-boosting-folds figures-sparse-elm`',
            'scaling': '`make speedup sizeup scaleup`; on Spark or Hadoop, add `RUNNER=spark` or `RUNNER=hadoop`'}


def write_page(title: str, *parts: str) -> str:
    """Join the parts of a page behind its head."""
    return '\n\n'.join([f'# {title}', HEAD, *(wrap(part.strip('\n')) for part in parts if part)]) + '\n'


def wrap(text: str) -> str:
    """Break the lines of a text, but not those of tables, figures and titles."""
    return '\n'.join(line if line[:1] in '|!#' else fill(line, WIDTH, subsequent_indent='  ' * line.startswith('* '),
                                                         break_long_words=False, break_on_hyphens=False)
                     for line in text.split('\n'))


def write_speed(measured: Measured) -> str:
    """Write the page of all targets of speed, a section a topic and a table a part."""
    groups = measured.groups()
    parts = [f'![{SPEED_TEXT}](speed.svg)', summarise_speed(groups), SPEED_COUNTS_TEXT] if groups else []
    parts += [RULES, describe_setting()]
    newest = find_newest(measured)
    for topic in TOPICS:
        names = [name for name in measured.bench if name.partition('/')[0] == topic]
        parts += [f'## {TITLES[topic]}'] if names else []
        parts += [text for name in names for text in write_part(name, measured, newest)]
    return write_page('Speed', *parts, list_absent(measured))


def describe_setting() -> str:
    """Say what holds for all comparisons of the benchmark."""
    return '\n\n'.join((
        'Each comparison has two sides, such as our method and a peer. Both sides get the same rows. They run '
        'alternately, and equally often. Before the timed runs, each side runs once without being timed, on these or '
        'on other rows, so that the time to load compiled code does not count. Two kinds of comparison have no such '
        'untimed run: `auto/auto`, and comparisons that start new processes in each run (on two cores and on Hadoop). '
        'Of the timed runs of each side, the shortest one counts. Seconds are processor seconds (user and system) of '
        'one thread. Only comparisons of threads, trainings on two cores, and trainings on Hadoop are timed by wall '
        'clock.',
        'In a row with "times faster", the value is the time of the second side divided by the time of the first side. '
        'In every other row that compares the times of two sides, the value is the time of the first side divided by '
        'the time of the second side.',
        'Some values are geometric means over several settings or data sets. For "runs moved by", we then compute the '
        'geometric mean of all first runs of a side, of all its second runs, and so on. We compare these means like '
        'the times of single runs.'))


def summarise_speed(groups: dict[str, list[Claim]]) -> str:
    """Count the verdicts of each comparison, and give the median of its values: what the figure shows, as a table."""
    lines = [write_row(('comparison', 'median, times faster', 'least', 'most', *VERDICTS[:4])), '|---|' + '---:|' * 7]
    for name, claims in groups.items():
        values, verdicts = [claim.value or 0 for claim in claims], [claim.verdict for claim in claims]
        lines.append(write_row((name.replace(' : ', ' against '), f'{median(values):.2f}', f'{min(values):.2f}',
                                f'{max(values):.2f}', *(str(verdicts.count(verdict)) for verdict in VERDICTS[:4]))))
    return '\n'.join(lines)


def replace_quotation(page: str, table: str) -> str:
    """Return a page with a table between the two marks of a quotation."""
    before, begin, rest = page.partition(MARKS[0])
    _, end, behind = rest.partition(MARKS[1])
    return f'{before}{begin}\n\n{table}\n\n{end}{behind}'


def summarise_accuracy(differences: dict[str, list[float]]) -> str:
    """Count on how many sets each method is ahead of a peer, and give the median of the differences."""
    lines = [write_row(('comparison', 'median, points', 'sets', 'ahead', 'equal', 'behind')), '|---|' + '---:|' * 5]
    for name, values in differences.items():
        counts = len(values), sum(v > 0 for v in values), values.count(0), sum(v < 0 for v in values)
        lines.append(write_row((name.replace(' : ', ' against '), f'{median(values):+.2f}', *map(str, counts))))
    return '\n'.join(lines)


def find_newest(measured: Measured) -> dict[str, str]:
    """Return the machine of the part that was measured last."""
    return max(measured.machines(), key=lambda machine: machine['when'], default={})


def write_part(name: str, measured: Measured, newest: dict[str, str]) -> list[str]:
    """Return the paragraphs of one part: what it compares, where it was measured, and its table."""
    part = measured.bench[name]
    machine = describe_in_a_line(part['machine']) + describe_difference(part['machine'], newest)
    return [f'### {name}', ABOUT[name], f'Measured on {machine}{SIZES.get(part["size"], "")}.',
            tabulate(measured.claims(name))]


def list_absent(measured: Measured) -> str:
    """Name the parts that were not measured."""
    absent = [name for name in PARTS if name not in measured.bench]
    return f'Not measured: {", ".join(absent)}.' if absent else ''


def write_accuracy(measured: Measured) -> str:
    """Write the page of accuracies, a section a table."""
    differences = measured.differences()
    parts = [f'![{ACCURACY_TEXT}](accuracy.svg)', summarise_accuracy(differences), COUNTS_TEXT] if differences else []
    parts += [RULES, TABLE_TEXT]
    for name, title in TABLES.items():
        table = measured.tables.get(name)
        command = f'`make {name}` measures this table. If you stop it, the next run continues.'
        parts += [f'## {title}', *([command, *table.describe()] if table else [describe_gap(name)])]
    shown = show_all(measured.points, FIGURES) if measured.points else [describe_gap(FIGURES)]
    return write_page('Accuracy', *parts, '## Accuracy over nodes, C and sigma', *shown)


def describe_gap(name: str) -> str:
    """Say that a table is missing, and which command measures it."""
    return f'Not measured yet. `make {name}` measures it.'


def write_scaling(measured: Measured) -> str:
    """Write the page of speedup, sizeup and scaleup, and of what the simulation says of these runs."""
    parts = [RULES]
    for experiment, runs in measured.runs.items():
        lines = describe_runs(experiment, runs, measured.sessions[experiment], f'{experiment}.png')
        parts += [f'## {experiment.capitalize()}', '\n'.join(lines)]
    if measured.simulations:
        parts += ['## Simulation', SIMULATION, tabulate(one.claim for one in measured.simulations)]
    for one in measured.simulations:
        parts += [f'### Simulated and measured seconds, {one.method}, {one.runner}',
                  '\n'.join(tabulate_errors(one.comparisons))]
    return write_page('Scaling', *parts, '' if measured.runs else 'Nothing was measured yet.')


def write_index(measured: Measured) -> str:
    """Write the page that leads to the others: verdicts, machines, versions, seeds."""
    speed = [claim for part in measured.bench for claim in measured.claims(part)]
    accuracy = [claim for table in measured.tables.values() for claim in table.judge()]
    lines = [write_link('speed', 'how fast each method trains, compared with its peers and with scripts that do only '
                        'its arithmetic', speed),
             write_link('accuracy', 'how often each method is right, compared with its peers', accuracy),
             write_link('scaling', 'how the training time changes with the number of nodes and of rows',
                        measured.judge_scaling())]
    machines = list_machines(measured.machines())
    versions = describe_versions(find_newest(measured))
    return write_page(
        'Results', '\n'.join(lines), RULES, '## Machines and versions',
        'Each part of these pages names the machine, the commit and the time of its measurement. This list shows '
        'each combination of machine and commit once, with the latest time. "Another commit" means that the commit '
        'differs from that of the newest part. The load is the mean number of processes that ran or were ready to run. '
        'If it is above the number of cores, other programs used the machine at the same time, and wall-clock times '
        'are unreliable.',
        '\n'.join(f'* {machine}' for machine in machines),
        f'Versions of the newest part: {versions}.' if versions else '',
        '## Seeds', 'A seed is the start value of random numbers.',
        '\n'.join(f'* {what}: {seed}' for what, seed in SEEDS.items()),
        '## Boundaries', '`make boundaries` trains each method on 400 rows of two tangled classes and '
        'draws its decision boundary.',
        f'![{BOUNDARIES_TEXT}](boundaries.png)')


def write_link(name: str, about: str, claims: Iterable[Claim]) -> str:
    """Write a line that leads to a page, with its verdicts and the command that measures."""
    counts = count_verdicts(claims) or 'not measured'
    return f'* [{name.capitalize()}]({name}.md): {about} ({counts}). To measure again: {COMMANDS[name]}.'


def describe_versions(machine: dict[str, str]) -> str:
    """Name the software of a part."""
    return ', '.join(f'{name} {version}' for name, version in machine.items()
                     if name not in (*HARDWARE, *PASSING))


PAGES = {'index.md': write_index, 'speed.md': write_speed, 'accuracy.md': write_accuracy, 'scaling.md': write_scaling}
