"""Commands that are killed: each in a process that is copied from one which has loaded all that they need."""

import itertools
import multiprocessing
import os
import signal
import sys

LOADED = [
    'mr_elm.cli.increment',
    'mr_elm.drivers.increment',
    'mr_elm.drivers.ledger',
    'mr_elm.drivers.receipts',
    'mr_elm.engines.local',
    'mr_elm.rows.csv_rows',
    'mr_elm.streaming.mr_ledger',
    'pyarrow.csv',
    'scipy.linalg',
]


def perform(n_renamed, words):
    """Run mr-elm in this process, which is killed in front of a renaming. n_renamed : renamings before."""
    from mr_elm.cli import main

    numbers = itertools.count()

    def kill(rename):
        def run(*names, **options):
            if next(numbers) == n_renamed:
                os.kill(os.getpid(), signal.SIGKILL)
            return rename(*names, **options)

        return run

    os.replace, os.rename = kill(os.replace), kill(os.rename)
    sys.exit(main(words))


def run_killed(n_renamed, words):
    """Run mr-elm as `perform` does, in another process; returns its status, -9 where it was killed."""
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(LOADED)
    process = context.Process(target=perform, args=(n_renamed, words))
    process.start()
    process.join(60)
    return process.exitcode
