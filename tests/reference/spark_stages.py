"""Stages whose tasks fail, for workers of Spark to import."""

import os
import signal
import time

from mr_elm.rows.wire import make_key
from mr_elm.streaming.stage import MRRows


class MRKilled(MRRows):
    """Count rows; the first task to write the file --mark is killed while it reads."""

    def configure_args(self):
        super().configure_args()
        self.add_passthru_arg('--mark')

    def map_block(self, block, place):
        if not os.path.exists(self.options.mark):
            open(self.options.mark, 'x').close()
            os.kill(os.getpid(), signal.SIGKILL)
        yield make_key('place', *place), {'rows': len(block)}


class MRWrong(MRRows):
    """Fail in the map, or with --reduce in the reducer."""

    def configure_args(self):
        super().configure_args()
        self.add_passthru_arg('--reduce', action='store_true')

    def map_block(self, block, place):
        if not self.options.reduce:
            raise KeyError('no map')
        yield make_key('place', *place), {'rows': len(block)}

    def reducer(self, key, values):
        raise KeyError('no reduce')


class MRSlow(MRRows):
    """Write to the file --mark five times a second, for a minute."""

    def configure_args(self):
        super().configure_args()
        self.add_passthru_arg('--mark')

    def map_block(self, block, place):
        for _ in range(300):
            with open(self.options.mark, 'a') as stream:
                stream.write('x')
            time.sleep(0.2)
        yield make_key('place', *place), {'rows': len(block)}
