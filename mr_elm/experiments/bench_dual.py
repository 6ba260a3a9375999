"""Measure the dual's solvers against LIBSVM, which is scikit-learn's SVC, and against each other.

    python -m mr_elm.experiments.bench_dual OUT.json [--full] [NAME...]

In processor seconds on one thread, at the same eps, on standardised features. Data sets are looked for in the folders
that MR_ELM_DATA names; those that are not there are left out. With --full (all rows, all settings: hours) what was
measured is kept in seconds.json beside OUT.json and not measured again, so that a stopped run goes on.
"""
import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from ..arithmetic import one_thread
from ..features.kernel_rows import kernel_rows
from ..features.kernels import make_kernel
from ..selection import PAPER, cross_validate, fold_numbers
from ..solvers.box_qp import BoxQP, Settings
from ..solvers.dual import solve_dual
from ..solvers.path import ready_rows
from .public_sets import find_set, read_set
from .timing import Row, save, table

ROWS, GRID_ROWS = 10_000, 5_000
# name -> set, classes; gamma is a multiple of 1/d
SETS = {
    'covtype': ('covtype-20k', (1, 2)), 'usps': ('usps', None), 'w8a': ('w8a', None), 'a9a': ('a9a', None),
    'spambase': ('spambase', None), 'cod-rna': ('cod-rna', None), 'magic': ('magic', None),
    'shuttle': ('shuttle', None), 'letter-pair': ('letter', (15, 17)), 'letter': ('letter', None),
}
SOME = ((0.3, 1), (1, 10), (3, 100), (1, 1000))
ALL = tuple((scale, C) for scale in (0.3, 1, 3) for C in (1, 10, 100, 1000))
WIDE = 50  # features
LONG = 4  # seconds, beyond which a measurement is not repeated


class Seconds:
    """Keep measured seconds in a JSON file, so that each is measured once."""

    def __init__(self, path):
        self.path = Path(path)
        self.known = json.loads(self.path.read_text()) if self.path.exists() else {}

    def of(self, key, action):
        """Return the processor seconds of `action`, from the file when it has them."""
        if key not in self.known:
            self.known[key] = processor_seconds(action)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.known, indent=1) + '\n')
        return self.known[key]


def least_seconds(actions):
    """Run the actions in turn, and once more where that is soon done: the least processor seconds of each."""
    first = [processor_seconds(action) for action in actions]
    if sum(first) > LONG:
        return first
    return [min(seconds, processor_seconds(action)) for seconds, action in zip(first, actions, strict=True)]


def processor_seconds(action):
    """Return the processor seconds of this process that a call takes."""
    start = time.process_time()
    action()
    return time.process_time() - start


def standardised(name, n_rows, sets=SETS):
    """Return (X, y) of some rows of a set, one of `sets`, features of mean 0 and deviation 1."""
    X, y = read_set(*sets[name])
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    X, y = X[rows].toarray(), y[rows]
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1), y


def svc(gamma, C):
    """Return LIBSVM."""
    from sklearn.svm import SVC
    return SVC(gamma=gamma, C=C, cache_size=1000)


def sparse_elm(gamma, C):
    """Return ours."""
    from ..estimators import SparseELMClassifier
    return SparseELMClassifier(gamma=gamma, C=float(C))


def subset_table(out, full):
    """Compare fits at every setting: rows a set, and the claims over all of them."""
    rows, ratios = [], {True: [], False: []}
    for name in SETS:
        if find_set(SETS[name][0]) is None:
            print(f'{name}: not in a folder of MR_ELM_DATA, left out', file=sys.stderr)
            continue
        X, y = standardised(name, None if full else ROWS)
        found = fit_ratios(name, X, y, ALL if full else SOME, out, full)
        ratios[X.shape[1] >= WIDE] += found.values()
        note = ', '.join(f'gamma {scale:g}/d C {C}: {ratio:.2f}' for (scale, C), ratio in found.items())
        rows.append(Row(f'fit on {name}, {len(y):,} x {X.shape[1]}, times faster than SVC, geometric mean',
                        mean(found.values()), 1.0, False, note))
    for wide, claim in ((True, 3.0), (False, 1.5)):
        if ratios[wide]:
            least = f'{len(ratios[wide])} settings, the least {min(ratios[wide]):.2f}'
            sets = f'sets of {"at least" if wide else "less than"} {WIDE} features'
            rows.append(Row(f'the same over all {sets}', mean(ratios[wide]), claim, False, least))
            rows.append(Row(f'the least of all settings, {sets}', min(ratios[wide]), 1.0, False, ''))
    return rows


def fit_ratios(name, X, y, settings, out, full):
    """Return (scale, C) -> SVC's seconds over ours."""
    known = Seconds(Path(out).with_name('seconds.json')) if full else None
    found, d = {}, X.shape[1]
    for C in (1, 1000):
        sparse_elm(1 / d, C).fit(X[:2000], y[:2000])  # once uncounted: loads compiled code
    for scale, C in settings:
        key = f'{name} {len(y)} {scale:g} {C}'
        pair = partial(svc(scale / d, C).fit, X, y), partial(sparse_elm(scale / d, C).fit, X, y)
        if full:
            theirs, mine = (known.of(f'{who} {key}', fit) for who, fit in zip(('SVC', 'ours'), pair, strict=True))
        else:
            theirs, mine = least_seconds(pair)
        found[scale, C] = theirs / mine
        print(f'{key}: SVC {theirs:.3f} s, ours {mine:.3f} s, {theirs / mine:.2f} x', file=sys.stderr, flush=True)
    return found


def mean(ratios):
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(list(ratios)))))


def adult(out, full):
    """Compare fit and prediction on a9a, first 32,561 rows for training, gamma 1/123, C 1."""
    if find_set('a9a') is None:
        print('a9a: not in a folder of MR_ELM_DATA, left out', file=sys.stderr)
        return []
    X, y = read_set('a9a')
    train, test = X[:32_561], X[32_561:]
    sparse_elm(1 / 123, 1).fit(X[:3000], y[:3000])
    theirs, ours = svc(1 / 123, 1), sparse_elm(1 / 123, 1)
    fits = least_seconds([partial(model.fit, train, y[:32_561]) for model in (theirs, ours)])
    predictions = least_seconds([partial(model.predict, test) for model in (theirs, ours)])
    result = ours.results_[0]
    note = (f'{fits[1]:.2f} s against {fits[0]:.2f} s; {len(ours.support_):,} support vectors, '
            f'{result.n_kernel_rows:,} kernel rows, gap {result.gap:.2g} at {result.objective:.4f}')
    return [Row('fit on a9a, 32,561 x 123, times faster than SVC', fits[0] / fits[1], 5.0, False, note),
            Row('predict 16,281 rows of a9a, times faster than SVC', predictions[0] / predictions[1], 10.0, False,
                f'{predictions[1]:.2f} s against {predictions[0]:.2f} s')]


def grid(out, full):
    """Compare the paper's grid, 5 folds, on rows of covtype with SVC, on a random tenth of its cells, a fold each."""
    if find_set('covtype-20k') is None:
        print('covtype-20k: not in a folder of MR_ELM_DATA, left out', file=sys.stderr)
        return []
    X, y = standardised('covtype', GRID_ROWS)
    codes, folds = (y == y.max()).astype(int), fold_numbers(X, 5, 0)
    cells = [(sigma, C) for sigma in PAPER for C in PAPER]
    chosen = np.random.default_rng(0).permutation(len(cells))[:len(cells) // 10]

    def theirs():
        for number in chosen:
            (sigma, C), held = cells[number], folds == number % 5
            machine = svc(0.5 / sigma**2, C).fit(X[~held], y[~held])
            machine.score(X[held], y[held])

    def ours():
        for sigma in PAPER:
            source = ready_rows(kernel_rows(X, make_kernel('gaussian', sigma=sigma)))
            list(cross_validate(source, codes, np.ones(len(X)), PAPER, folds, range(5), 2, 'one-vs-one', Settings()))

    sparse_elm(1, 1).fit(X[:2000], y[:2000])  # once uncounted: loads compiled code
    whole = processor_seconds(theirs) * 5 * len(cells) / len(chosen)
    mine = processor_seconds(ours)
    return [Row(f'14 x 14 grid, 5 folds, {GRID_ROWS:,} rows of covtype, times faster than SVC', whole / mine, 30.0,
                False, f'{mine:.0f} s against {whole:.0f} s, by {len(chosen)} of 980 fits')]


def active_sets(out, full):
    """Compare the iterations of oelm and bas."""
    rows = []
    for name in ('australian', 'diabetes', 'ionosphere', 'svmguide1'):
        if find_set(name) is None:
            print(f'{name}: not in a folder of MR_ELM_DATA, left out', file=sys.stderr)
            continue
        X, y = read_set(name)
        kernel = make_kernel('gaussian', gamma=1 / X.shape[1])
        source, t = kernel_rows(boxed(X.toarray()), kernel), np.where(y == y.max(), 1.0, -1.0)
        for C in (1, 10, 100):
            proposed, basic = (solve_dual(BoxQP(source, t, C), rule) for rule in ('oelm', 'bas'))
            note = (f'{proposed.n_iter} against {basic.n_iter} iterations, {proposed.seconds:.2f} s against '
                    f'{basic.seconds:.2f} s')
            rows.append(Row(f'oelm on {name} at C {C}, iterations over those of bas', proposed.n_iter / basic.n_iter,
                            0.1, True, note))
    return rows


def boxed(X):
    """Scale features to [-1, 1]."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.where(high > low, 2 * (X - low) / np.where(high > low, high - low, 1) - 1, 0)


MEASUREMENTS = {'a9a': adult, 'subsets': subset_table, 'grid': grid, 'active-sets': active_sets}


def main(out, names, full):
    """Measure, print the table, write JSON; returns 1 when a claim was missed."""
    rows = []
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for name in names or MEASUREMENTS:
            rows += MEASUREMENTS[name](out, full)
            save(rows, out)
    print(table(rows))
    return int(any(row.verdict == 'missed' for row in rows))


if __name__ == '__main__':
    words = [word for word in sys.argv[1:] if word != '--full']
    sys.exit(main(words[0], words[1:], '--full' in sys.argv))
