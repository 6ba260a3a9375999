"""Do what training has in common, whatever the method: where the model goes, and writing it."""
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mr_elm.cli.options import Parser, choose_engine, plan_rows
from mr_elm.cli.rejected import name_rejected, remove_rejected, write_rejected
from mr_elm.engines.base import Engine
from mr_elm.header import ModelHeader
from mr_elm.models import make_model
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.options import AdvancedHelp, RowOptions
from mr_elm.rows.storage import demand_free, write_file


@dataclass(frozen=True)
class Output:
    """Say where a model goes.

    path : of the model. overwrite : whether to replace one that exists.
    skips : whether rows that cannot be used are left out, and written beside the model.
    """

    path: str
    overwrite: bool
    skips: bool = False

    def demand_free(self) -> None:
        """Refuse a model that exists, or whose folder does not, before any work is done."""
        demand_free(self.path, self.overwrite)
        if self.skips:
            demand_free(name_rejected(self.path), self.overwrite)

    def keep(self, engine: Engine, header: ModelHeader, arrays: Mapping[str, np.ndarray],
             accounts: Accounts | None) -> None:
        """Write a model, and the rows that were left out."""
        with write_file(self.path) as local:
            make_model(header, arrays).save(local, self.path)
        if accounts is not None and accounts.rows:
            write_rejected(name_rejected(self.path), accounts, engine)
        elif self.overwrite:
            remove_rejected(self.path)
        engine.reporter.say(f'{self.path}: {header.n_rows_used:,} rows, {header.n_features} features, '
                            f'{describe_size(header, arrays)}')


def describe_size(header: ModelHeader, arrays: Mapping[str, np.ndarray]) -> str:
    """Say how large a model is."""
    if 'dual_coef' in arrays:
        return f'{len(arrays["dual_coef"]):,} support vectors'
    sizes = [{**header.parameters, **own}['n_hidden'] for own in header.members or [{}]]
    machines = f'the mean of {len(sizes)} machines of ' if header.members else ''
    return f'{machines}{", ".join(map(str, sizes))} hidden nodes'


def output_of(args: Any) -> Output:
    """Return where the user wants the model."""
    return Output(args.model, args.overwrite, args.bad_rows == 'skip')


def add_model_options(parser: Parser, required: bool = True) -> None:
    """Add where the model goes."""
    group = parser.group('model')
    group.add_argument('--model', required=required, metavar='OUT.npz', help='where to write the model')
    group.add_argument('--overwrite', action='store_true', help='replace an existing model')
    if required:
        group.add_argument('--script', action='store_true', help=AdvancedHelp(
            'train nothing; print a shell script that trains stage by stage'))


def run(driver: Callable[..., tuple], options: Any, args: Any, passed: tuple[str, ...], **known: Any) -> None:
    """Run a driver's training and write the model.

    driver : function (plan, options, engine) -> (header, arrays, accounts). known : RowOptions to override.
    """
    output = output_of(args)
    output.demand_free()
    plan = plan_rows(args, RowOptions.of_arguments(args, **known))
    with choose_engine(args, passed, args.model) as engine:
        output.keep(engine, *driver(plan, options, engine))
