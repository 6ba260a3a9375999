"""Hand the parts of a benchmark what they share: folders, the size asked for, things made once."""
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mr_elm.scaling.machine import read_commit
from mr_elm.scaling.timing import Seconds, measure_processor

QUICK, NORMAL, FULL = SIZES = ('quick', 'normal', 'full')


class Bench:
    """Give parts a folder that is removed at the end, and one that stays, for what is slow to measure again.

    folder, kept : paths. size : one of SIZES; quick is for a look, normal for the claims, full for all rows.
    """

    def __init__(self, kept: str | Path, size: str = NORMAL) -> None:
        self.kept, self.size = Path(kept), size
        self.made: dict[Callable, Any] = {}
        self.stack = ExitStack()

    def __enter__(self) -> 'Bench':
        self.folder = Path(self.stack.enter_context(TemporaryDirectory(prefix='mr_elm-bench-')))
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def pick(self, quick: Any, normal: Any, full: Any = None) -> Any:
        """Return what the size asked for calls for; full is normal unless it is given."""
        return {QUICK: quick, NORMAL: normal, FULL: normal if full is None else full}[self.size]

    def runs(self, key: str, ours: Callable, theirs: Callable) -> list[list[float]]:
        """Return the processor seconds of our fit and of a peer's: two lists of two runs, made in turn.

        At full size runs are kept, so that a stopped benchmark goes on: theirs for good, ours for this code.
        """
        if self.size != FULL:
            return measure_processor([ours, theirs])
        known, mine = Seconds(self.kept / 'seconds.json'), f'mr_elm {read_commit()}'
        runs = [[known.of(f'{name}, {key}, run {number}', fit) for name, fit in ((mine, ours), ('peer', theirs))]
                for number in (1, 2)]
        return [list(side) for side in zip(*runs, strict=True)]

    def shared(self, kind: Callable) -> Any:
        """Return the one kind(folder) of this run, closed at its end if it can be."""
        if kind not in self.made:
            self.made[kind] = kind(self.folder)
            if hasattr(kind, 'close'):
                self.stack.callback(self.made[kind].close)
        return self.made[kind]
