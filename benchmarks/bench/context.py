"""Hand the parts of a benchmark what they share: folders, the size asked for, things made once."""
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

QUICK, NORMAL, FULL = SIZES = ('quick', 'normal', 'full')


class Bench:
    """Give parts a folder that is removed at the end.

    folder : path. size : one of SIZES; quick is for a look, normal for the claims, full for all rows.
    """

    def __init__(self, size: str = NORMAL) -> None:
        self.size = size
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

    def shared(self, kind: Callable) -> Any:
        """Return the one kind(folder) of this run, closed at its end if it can be."""
        if kind not in self.made:
            self.made[kind] = kind(self.folder)
            if hasattr(kind, 'close'):
                self.stack.callback(self.made[kind].close)
        return self.made[kind]
