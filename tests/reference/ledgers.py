"""A ledger that is written on a cluster is the ledger that is written in this process."""

import shutil

from mr_elm.rows.ledger import Ledger


def demand_ledger_of_inline(run, here, rows, folder, *options, n_headers=0, verify=None):
    """Train, forget and verify with a ledger, on a cluster and inline with the same key.

    run, here : run a command on the cluster and inline, which must succeed: standard output. rows : a file of text.
    folder : for models. options : of the training. n_headers : how many lines of the file are no rows.
    verify : runs the last command instead of `run`.
    """
    paths = {}
    for name, train in (('inline', here), ('cluster', run)):
        paths[name] = folder / f'{name}.ledger'
        if name == 'cluster':
            shutil.copy(folder / 'inline.ledger.key', folder / 'cluster.ledger.key')
        words = '--ledger', paths[name], '--model', folder / f'{name}.npz', '-q'
        train('train', 'pesvm', rows, *options, *words)
    demand_same_root(paths)
    lines = rows.read_text().splitlines(keepends=True)
    head, lines = lines[:n_headers], lines[n_headers:]
    few, rest = folder / 'few.csv', folder / 'rest.csv'
    few.write_text(''.join([*head, *lines[::7]]))
    rest.write_text(''.join([*head, *(line for k, line in enumerate(lines) if k % 7)]))
    for name, forget in (('inline', here), ('cluster', run)):
        words = '--ledger', paths[name], '--model', folder / f'{name}-left.npz', '-q'
        forget('forget', folder / f'{name}.npz', few, *words)
    demand_same_root(paths)
    found = (verify or run)('verify', folder / 'cluster-left.npz', rest, '--ledger', paths['cluster'], '-q')
    assert 'rows: exactly' in found and 'predictions: those of a new training' in found


def demand_same_root(paths):
    """Demand that all ledgers of `paths` have the same entries."""
    assert len({Ledger.read(str(path)).root for path in paths.values()}) == 1
