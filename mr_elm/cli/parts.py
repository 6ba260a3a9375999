"""mr-elm parts: what the parts of a training say of each other, and models of some of them, without rows."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass

from mr_elm.cli.increment import demand_no_ledger, read_living
from mr_elm.cli.options import Parser, add_quiet_option
from mr_elm.cli.output import Output, lay_out_table
from mr_elm.drivers.increment import solve_members
from mr_elm.engines import make_engine
from mr_elm.export.facts import list_columns
from mr_elm.machines.parts import (
    Part,
    keep_parts,
    measure_drift,
    measure_shifts,
    read_parts,
    remove_parts,
    score_parts,
    select_part,
    weigh_nodes,
)
from mr_elm.model.models import HiddenNodeModel
from mr_elm.option import add_options, option
from mr_elm.progress import Reporter


@dataclass(frozen=True)
class PartsOptions:
    """Say which machines of the parts are scored."""

    nu: tuple[float, ...] | None = option(None, 'values of nu to score, or of C for elm (default: that of the model)')


def parts(argv: Sequence[str]) -> None:
    """Score each part of a training by the model of the others, or write the model of some parts; no row is read."""
    parser = Parser('parts', parts.__doc__, runs_jobs=False)
    parser.add_argument('known', metavar='MODEL', help='a model of mr-elm train --part-by, with its sums')
    add_options(parser.add_to, PartsOptions)
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.add_argument(
        '--figure', metavar='FILE.png', help='draw how far each part is from the others (needs matplotlib)'
    )
    parser.add_argument(
        '--without',
        action='append',
        default=[],
        metavar='PART',
        help='write the model of all other parts; may be repeated',
    )
    parser.add_argument(
        '--only', action='append', default=[], metavar='PART', help='write the model of this part; may be repeated'
    )
    parser.add_argument('--model', metavar='OUT.npz', help='--without, --only: where to write the model')
    parser.add_argument('--overwrite', action='store_true', help='replace an existing model')
    add_quiet_option(parser)
    args = parser.parse(argv)
    if bool(args.without) + bool(args.only) != (args.model is not None):
        parser.error('expected --model OUT.npz together with --without or with --only')
    model = read_living(args.known).members[0]  # a model of several members has no parts
    found = read_parts(model, args.known)
    names = [part.name for part in found]
    if unknown := sorted({*args.without, *args.only} - {*names}):
        raise ValueError(f'{args.known}: expected a part such as {", ".join(names[:9])}, found {unknown[0]!r}')
    if args.model is not None:
        demand_no_ledger(model, args.known)
        write_rest(args, model, found)
        return
    weight = model.header.parameters[model.header.nu_name]
    scores = score_parts(model, found, args.nu or (weight,))
    drift = measure_drift(model, found)
    columns = [name for name, _, _ in list_columns(model)]
    shifts = [dict(zip(columns, far.tolist(), strict=True)) for far in measure_shifts(model, found)]
    if args.figure is not None:
        from mr_elm.figures.drift import draw

        draw(dict(zip(names, drift, strict=True)), shifts, args.figure)
    records = [{'name': part.name, 'rows': part.n_rows, 'drift': far} for part, far in zip(found, drift, strict=True)]
    if args.json:
        nodes = weigh_nodes(model, found)
        for k, record in enumerate(records):
            record.update(columns=shifts[k] if shifts else None, nodes=nodes[k].tolist())
        print(json.dumps({'parts': records, 'scores': [{'nu': nu, 'errors': errors} for nu, errors in scores.items()]}))
        return
    for k, record in enumerate(records):
        record |= {f'nu {nu:g}': errors[k] for nu, errors in scores.items()}
        if shifts:
            farthest = max(columns, key=shifts[k].__getitem__)
            record['differs most'] = f'{farthest} (by {shifts[k][farthest]:.2g} standard deviations)'
    print(*lay_out_table([list(records[0]), *(list(record.values()) for record in records)]), sep='\n')


def write_rest(args: argparse.Namespace, model: HiddenNodeModel, found: list[Part]) -> None:
    """Write the model of the parts that --without leaves, or that --only names."""
    output = Output(args)
    engine = make_engine(reporter=Reporter(args.quiet))
    output.demand_free()
    left = []
    gone = []
    for part in found:
        if part.name in args.only or args.without and part.name not in args.without:
            left.append(part)
        else:
            gone.append(part)
    new = solve_members([remove_parts(model, gone)], engine).members[0]
    output.keep(engine, keep_parts(new, [select_part(part, model.classes, new.classes) for part in left]), None)
