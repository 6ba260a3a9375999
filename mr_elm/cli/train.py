"""mr-elm train METHOD INPUT... --model OUT.npz"""
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from mr_elm.cli.methods import run_method
from mr_elm.methods import METHODS, Method

LINES = {name: method.what for name, method in METHODS.items()}


def train(argv: Sequence[str]) -> int | None:
    """Train the method that the first word names, or print how to do that by hand."""
    return run_method(argv, 'train', partial(read_training, partial(perform, argv)), LINES)


def read_training(perform: Callable[..., None], name: str, method: Method, argv: Sequence[str]) -> None:
    """Read the options of a training; what they take is imported now."""
    from mr_elm.cli.train_method import train_method
    train_method(perform, name, method, argv)


def perform(words: Sequence[str], driver: Callable[..., tuple], options: Any, args: Any, passed: tuple[str, ...],
            **known: Any) -> None:
    """Do what the words of a training ask for."""
    if args.script:
        from mr_elm.cli.script import print_script
        print_script(words, options, args, passed, **known)
    else:
        from mr_elm.cli.training import run
        run(driver, options, args, passed, **known)
