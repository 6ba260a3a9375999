"""Stages whose tasks fail or speak, for processes on this machine to import."""

import os
import signal
import time
from pathlib import Path

from mr_elm.rows.wire import make_key
from mr_elm.streaming.stage import MRRows


class Odd(Exception):
    """Fail with two arguments, of which the second must be given: it cannot be pickled."""

    def __init__(self, first, second):
        super().__init__(first, second)


class MRFails(MRRows):
    """Fail in the second map task, or with --reduce in the reducer; with --how sleep, sleep in all."""

    def configure_args(self):
        super().configure_args()
        self.add_passthru_arg('--how')
        self.add_passthru_arg('--mark')
        self.add_passthru_arg('--reduce', action='store_true')

    def map_block(self, block, place):
        if place[1] > 0 and not self.options.reduce or self.options.how == 'sleep':
            self.fail()
        yield make_key('place', *place), {'rows': len(block)}

    def reducer(self, key, values):
        if self.options.reduce:
            self.fail()
        yield from super().reducer(key, values)

    def fail(self):
        if self.options.how == 'raise':
            raise Odd('two', 'words')
        if self.options.how == 'exit':
            raise SystemExit(3)
        if self.options.how == 'kill':
            os.kill(os.getpid(), signal.SIGKILL)
        if self.options.how == 'sleep':
            open(self.options.mark, 'w').close()
            time.sleep(60)
        os._exit(7)


class MRChatty(MRRows):
    """Print a word, and tell in which process."""

    def configure_args(self):
        super().configure_args()
        self.add_passthru_arg('--word', default='')

    def map_block(self, block, place):
        print('a word of a task')
        yield make_key('place', *place), {'pid': os.getpid(), 'word': self.options.word}


def list_children(process):
    """List the processes that a process has started."""
    return [
        int(number) for path in Path(f'/proc/{process}/task').glob('*/children') for number in path.read_text().split()
    ]
