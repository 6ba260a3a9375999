"""mr-elm clean: remove what killed commands left."""

from collections.abc import Sequence

from mr_elm.cli.options import Parser, add_runner_options, choose_engine
from mr_elm.engines.cluster import Remote
from mr_elm.store import remove_leftovers


def clean(argv: Sequence[str]) -> None:
    """Remove the files that killed commands of this user left on this machine, and with -r on a cluster; print them."""
    parser = Parser('clean', clean.__doc__)
    add_runner_options(parser)
    parser.set_defaults(inputs=[])
    args = parser.parse(argv)
    for path in remove_leftovers():
        print(path)
    with choose_engine(args) as engine:
        if isinstance(engine, Remote):
            for path in engine.work.sweep(resumable=True):
                print(path)
