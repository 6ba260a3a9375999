"""Hand the parts of a benchmark what they share: folders, the size asked for, things made once."""
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from ..machine import commit
from ..timing import Seconds, least_seconds

QUICK, NORMAL, FULL = SIZES = ('quick', 'normal', 'full')


class Bench:
    """Give parts a folder that is removed at the end, and one that stays, for what is slow to measure again.

    folder, kept : paths. size : one of SIZES; quick is for a look, normal for the claims, full for all rows.
    """

    def __init__(self, kept, size=NORMAL):
        self.kept, self.size = Path(kept), size
        self.made, self.stack = {}, ExitStack()

    def __enter__(self):
        self.folder = Path(self.stack.enter_context(TemporaryDirectory(prefix='mr_elm-bench-')))
        return self

    def __exit__(self, *_):
        self.stack.close()

    def pick(self, quick, normal, full=None):
        """Return what the size asked for calls for; full is normal unless it is given."""
        return {QUICK: quick, NORMAL: normal, FULL: normal if full is None else full}[self.size]

    def seconds(self, key, theirs, ours):
        """Return the processor seconds of a peer's fit and of ours: the least of runs in turn.

        At full size each is measured once and kept, so that a stopped run goes on: theirs for good, ours for this code.
        """
        if self.size != FULL:
            return least_seconds([theirs, ours])
        known = Seconds(self.kept / 'seconds.json')
        return [known.of(f'peer, {key}', theirs), known.of(f'mr_elm {commit()}, {key}', ours)]

    def shared(self, kind):
        """Return the one kind(folder) of this run, closed at its end if it can be."""
        if kind not in self.made:
            self.made[kind] = kind(self.folder)
            if hasattr(kind, 'close'):
                self.stack.callback(self.made[kind].close)
        return self.made[kind]
