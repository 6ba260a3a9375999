"""Do what training has in common, whatever the method: where the model goes, and writing it."""
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mr_elm.cli.options import Parser, choose_engine, plan_rows
from mr_elm.cli.rejected import name_rejected, remove_rejected, write_rejected
from mr_elm.engines.base import Engine
from mr_elm.model_base import Model
from mr_elm.model_sums import name_sums, takes_sums
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.options import AdvancedHelp, RowOptions
from mr_elm.rows.storage import demand_free


@dataclass(frozen=True)
class Output:
    """Say where a model goes.

    path : of the model. overwrite : whether to replace one that exists.
    skips : whether rows that cannot be used are left out, and written beside the model.
    sums : whether the sums of the rows are written beside the model, where it has some.
    """

    path: str
    overwrite: bool
    skips: bool = False
    sums: bool = True

    def demand_free(self) -> None:
        """Refuse a model or sums that exist, or whose folder does not, before any work is done."""
        demand_free(self.path, self.overwrite)
        if takes_sums(self.path):
            demand_free(name_sums(self.path), self.overwrite)
        if self.skips:
            demand_free(name_rejected(self.path), self.overwrite)

    def keep(self, engine: Engine, model: Model, accounts: Accounts | None) -> None:
        """Write a model, its sums, and the rows that were left out."""
        model = model if self.sums else model.without_sums()
        model.save(self.path)
        if accounts is not None and accounts.rows:
            write_rejected(name_rejected(self.path), accounts, engine)
        elif self.overwrite:
            remove_rejected(self.path)
        header, say = model.header, engine.reporter.say
        say(f'{self.path}: {header.n_rows_used:,} rows, {header.n_features} features, {describe_size(model)}')
        if model.sums is not None and not takes_sums(self.path):
            say(f'{self.path}: a pipe or a device gets no sums, which update, forget and merge need: write a file')


def describe_size(model: Model) -> str:
    """Say how large a model is."""
    header = model.header
    if 'dual_coef' in model.arrays:
        return f'{len(model.arrays["dual_coef"]):,} support vectors'
    sizes = [{**header.parameters, **own}['n_hidden'] for own in header.members or [{}]]
    machines = f'the mean of {len(sizes)} machines of ' if header.members else ''
    return f'{machines}{", ".join(map(str, sizes))} hidden nodes'


def output_of(args: Any) -> Output:
    """Return where the user wants the model."""
    return Output(args.model, args.overwrite, args.bad_rows == 'skip', getattr(args, 'sums', True))


def add_model_options(parser: Parser, required: bool = True, living: bool = False) -> None:
    """Add where the model goes. living : whether it has sums, which are written beside it."""
    group = parser.group('model')
    group.add_argument('--model', required=required, metavar='OUT.npz', help='where to write the model')
    group.add_argument('--overwrite', action='store_true', help='replace an existing model')
    if living:
        group.add_argument('--no-sums', dest='sums', action='store_false', help=AdvancedHelp(
            'write the model alone, without the sums of the rows in OUT.sums.npz, which update, forget and merge need'))
    if required:
        group.add_argument('--script', action='store_true', help=AdvancedHelp(
            'train nothing; print a shell script that trains stage by stage'))


def run(driver: Callable[..., tuple], options: Any, args: Any, passed: tuple[str, ...], **known: Any) -> None:
    """Run a driver's training and write the model.

    driver : function (plan, options, engine) -> (Model, accounts). known : RowOptions to override.
    """
    output = output_of(args)
    output.demand_free()
    plan = plan_rows(args, RowOptions.of_arguments(args, **known))
    with choose_engine(args, passed, args.model) as engine:
        output.keep(engine, *driver(plan, options, engine))
