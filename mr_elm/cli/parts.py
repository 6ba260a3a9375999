"""mr-elm parts: what the parts of a training say of each other, and models of some of them, without rows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mr_elm.cli.increment import demand_no_ledger, read_living
from mr_elm.cli.options import Parser, add_quiet_option
from mr_elm.cli.output import Output
from mr_elm.drivers.increment import solve_members
from mr_elm.engines import make_engine
from mr_elm.export.facts import list_columns
from mr_elm.machines.parts import (
    keep_parts,
    measure_drift,
    measure_shifts,
    read_parts,
    remove_parts,
    score_parts,
    select_part,
    weigh_nodes,
)
from mr_elm.option import add_options, option
from mr_elm.progress import Reporter
from mr_elm.rows.storage import write_file


@dataclass(frozen=True)
class PartsOptions:
    """Say which machines of the parts are scored."""

    nu: tuple[float, ...] | None = option(None, 'weights of the errors to score (default: that of the model); C of elm')


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
    args, _ = parser.parse(argv)
    if bool(args.without) + bool(args.only) != (args.model is not None):
        parser.error('expected --model OUT.npz together with --without or with --only')
    known = read_living(args.known)
    model, found = known.members[0], read_parts(known.members[0], args.known)  # others have several members, no parts
    names = [part.name for part in found]
    if unknown := sorted({*args.without, *args.only} - {*names}):
        raise ValueError(f'{args.known}: expected a part such as {", ".join(names[:9])}, found {unknown[0]!r}')
    if args.model is not None:
        demand_no_ledger(model, args.known)
        output, engine = Output.of(args), make_engine(reporter=Reporter(args.quiet))
        output.demand_free()
        kept = {*args.only} or {*names} - {*args.without}
        left, gone = ([part for part in found if (part.name in kept) == here] for here in (True, False))
        new = solve_members([remove_parts(model, gone)], engine).members[0]
        output.keep(engine, keep_parts(new, [select_part(part, model.classes, new.classes) for part in left]), None)
        return
    weight = model.header.parameters[model.header.nu_name]
    scores, drift = score_parts(model, found, args.nu or (weight,)), measure_drift(model, found)
    columns = [name for name, _, _ in list_columns(model)]
    shifts = [dict(zip(columns, far.tolist(), strict=True)) for far in measure_shifts(model, found)]
    if args.figure is not None:
        from mr_elm.figures.drift import draw

        with write_file(args.figure) as local:
            draw(dict(zip(names, drift, strict=True)), shifts, local)
    if args.json:
        weighed = weigh_nodes(model, found)
        print(
            json.dumps(
                {
                    'parts': [
                        {
                            'name': part.name,
                            'rows': part.n_rows,
                            'drift': far,
                            'columns': shifts[k] if shifts else None,
                            'nodes': weighed[k].tolist(),
                        }
                        for k, (part, far) in enumerate(zip(found, drift, strict=True))
                    ],
                    'scores': [{'nu': nu, 'errors': errors} for nu, errors in scores.items()],
                }
            )
        )
        return
    width = max(map(len, ['part', *names]))
    ending = [' column that differs most'] if shifts else []
    print(f'{"part":{width}} {"rows":>12} {"drift":>10}', *(f'{f"nu {nu:g}":>12}' for nu in scores), *ending)
    for k, part in enumerate(found):
        print(
            f'{part.name:{width}} {part.n_rows:12,} {drift[k]:10.4g}',
            *(f'{errors[k]:12.6g}' for errors in scores.values()),
            *([describe_shift(shifts[k])] if shifts else []),
        )


def describe_shift(shifts: Mapping[str, float]) -> str:
    """Name the column of a part whose mean is the farthest from that of the others."""
    name = max(shifts, key=lambda column: shifts[column])
    return f' {name}: {shifts[name]:.2g} sd'
