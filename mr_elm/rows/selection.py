"""Find the columns of a file that are features, label and weight: by name, or by position where there are none."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mr_elm.errors import DataFormatError, MissingColumnError, suggest, warn_unsuitable
from mr_elm.rows.options import RowOptions
from mr_elm.rows.text import demand_distinct

SHOWN_NAMES = 50  # names in a message
LABEL_NAMES = ('class', 'label', 'labels', 'target')


@dataclass(frozen=True)
class Header:
    """Hold what is known of the columns of a file: its path, how many there are, and their names or None.

    idle : positions of columns that hold nothing, such as the numbers of the rows.
    """

    path: str
    n_columns: int
    names: Sequence[str] | None = None
    idle: Sequence[int] = ()

    @cached_property
    def counts(self) -> Counter[Any]:
        """Count the columns of each name."""
        return Counter(self.names)

    def locate(self, column: str | int) -> int:
        """Find a column: a whole number is a position from 0, or from the end when negative; anything else is a name.

        Raises DataFormatError when there is no such column, or several have the name.
        """
        names = self.names or ()
        if self.counts[column] == 1:
            return names.index(column)
        if self.counts[column]:
            raise DataFormatError(
                f'{self.path}: expected one column named {column!r}, found several: give each another name, or name it '
                'by its position'
            )
        try:
            position = int(column)
        except ValueError:
            description = 'it has no header line'
            if names:
                description = f'its {len(names)} columns are {", ".join(names[:SHOWN_NAMES])}'
            hint = suggest(str(column), names)
            raise MissingColumnError(f'{self.path}: expected a column named {column!r}{hint}, {description}') from None
        if not -self.n_columns <= position < self.n_columns:
            cure = ': --delimiter says what separates fields' if self.n_columns == 1 else ''
            raise MissingColumnError(
                f'{self.path}: expected column {position} (counted from 0), rows have {self.n_columns} fields{cure}'
            )
        return position % self.n_columns

    def name(self, position: int | None) -> str | None:
        """Return the name of a column, None where there is none."""
        if self.names is None or position is None:
            return None
        return self.names[position]

    def call(self, position: int) -> str | int:
        """Return the name of a column, or its position where it has none, or shares it with another."""
        name = self.name(position)
        if name and self.counts[name] == 1:
            return name
        return position


def select_columns(header: Header, options: RowOptions) -> dict[str, Any]:
    """Find label, weight and features of a file: what `RowOptions` say of them once it is decided.

    Raises DataFormatError when columns are missing, or not known.
    """
    labels = find_labels(header, options)
    weight = find_special(header, options.weight_column, options.weight_name, options.ignore_label)
    parts = tuple(map(header.locate, options.part_by))
    special = *labels, weight, *parts
    if len({*special}) < len(special):
        raise DataFormatError(
            f'{header.path}: expected labels, weight and parts in columns of their own, one is given twice'
        )
    named = set(map(header.locate, options.columns or ()))
    named |= {j for j in header.idle if header.name(j) in (options.names or ())}
    free = [j for j in range(header.n_columns) if j not in (*labels, weight) and (j not in header.idle or j in named)]
    features = choose_features(header, free, options)
    if not features:
        raise MissingColumnError(
            f'{header.path}: expected a label and at least one feature, found {header.n_columns} column(s): in a csv '
            'file --delimiter says what stands between them'
        )
    label, targets, names = next(iter(labels), None), labels * (len(labels) > 1), None
    if header.names is not None:
        warn_of_label(header, label, options)
        if options.names is not None:
            features = order_features(header, features, options.names)
        names = tuple(header.names[j] for j in features)
        demand_distinct(
            header.path, names, ': give each another name, or leave all but one out with --drop and their positions'
        )
    chosen = set(features)
    category: tuple[int, ...] = ()
    if options.category:
        category = find_categories(header, options, chosen)
    return {
        'n_columns': header.n_columns,
        'label_column': label,
        'label_name': header.name(label),
        'labelled': bool(labels),
        'targets': targets,
        'target_names': tuple(map(header.name, targets)) if targets and header.names else None,
        'weight_column': weight,
        'weight_name': header.name(weight),
        'part_by': parts,
        'part_names': tuple(map(header.call, parts)),
        'encode': 'auto' if options.table else 'refuse',
        'category': category,
        'names': names,
        'positions': tuple(features),
        'dropped': tuple(header.call(j) for j in free if j not in chosen),
        'idle': tuple(j for j in header.idle if j not in (*special, *features)),
    }


def warn_of_label(header: Header, label: int | None, options: RowOptions) -> None:
    """Warn where nobody has named the label, and another column than the first one has the name of a label."""
    name, others = header.name(label), [name for name in header.names or () if name.lower() in LABEL_NAMES]
    if label is not None and options.label_column == 0 and options.label_name is None and others and name not in others:
        warn_unsuitable(
            f'{header.path}: the label is the first column, {name!r}, although there is a column '
            f'{others[0]!r}: --label-column {others[0]} makes that one the label',
        )


def find_categories(header: Header, options: RowOptions, features: Container[int]) -> tuple[int, ...]:
    """Return the positions of the columns of --category. Raises DataFormatError where one is no feature."""
    if not options.table:
        raise DataFormatError('--category: expected --encode auto too, without which all columns are numbers')
    positions = tuple(map(header.locate, options.category))
    for position in positions:
        if position not in features:
            raise DataFormatError(
                f'{header.path}: expected columns that are features, --category names column '
                f'{header.call(position)!r}, which is none'
            )
    return positions


def find_labels(header: Header, options: RowOptions) -> tuple[int, ...]:
    """Find the label, or all targets; none where rows have no label.

    Raises DataFormatError when one is missing.
    """
    if not options.labelled:
        return ()
    if not options.targets:
        label = find_special(header, options.label_column, options.label_name, options.ignore_label)
        if label is None:
            return ()
        if header.names is None or header.names[label] not in (options.names or ()):
            return (label,)
        if options.ignore_label:
            return ()  # the model of an estimator knows no label's name
        raise DataFormatError(
            f'{header.path}: expected a label, column {header.call(label)!r} is a feature of the '
            'model: name the label with --label-column'
        )
    if options.target_names is None or header.names is None:
        return tuple(map(header.locate, options.targets))
    return tuple(
        header.locate(name) for name in options.target_names if name in header.names or not options.ignore_label
    )


def find_special(header: Header, column: str | int | None, name: str | None, may_miss: bool) -> int | None:
    """Find the label or the weight: by `name` where it is known and columns have names, else as `column` says.

    may_miss : whether None is returned when no column has the name.
    """
    if name is None or header.names is None:
        if column == 0 and isinstance(column, int) and header.idle:  # nobody has said which
            return min(set(range(header.n_columns)) - set(header.idle), default=0)
        if column is None:
            return None
        return header.locate(column)
    if may_miss and name not in header.names:
        return None
    return header.locate(name)


def choose_features(header: Header, free: Sequence[int], options: RowOptions) -> list[int]:
    """Return which of the free columns the user wants as features, or a training had."""
    left_out = set(map(header.locate, (*(options.drop or ()), *options.part_by)))
    if options.columns is not None:
        chosen, allowed = list(dict.fromkeys(map(header.locate, options.columns))), set(free) - left_out
        if clash := [j for j in chosen if j not in allowed]:
            raise DataFormatError(
                f'{header.path}: expected features in --columns, column {header.call(clash[0])!r} is '
                'the label, the weight, or in --drop or --part-by'
            )
        return chosen
    if options.drop is None and options.positions is not None and header.names is None:
        return list(map(header.locate, options.positions))
    known = {header.call(j): j for j in range(header.n_columns)}
    left_out |= {known[column] for column in options.dropped if column in known}  # another file need not have them
    return [j for j in free if j not in left_out]


def order_features(
    header: Header, features: Iterable[int], names: Sequence[str], cure: str = ': leave it out with --drop {}'
) -> list[int]:
    """Put features into the order of their names. Raises DataFormatError when one is missing, or has no such name."""
    positions = {header.name(j): j for j in features}
    for name in names:
        if name not in positions:
            hint = suggest(name, map(str, positions.keys() - {*names}))
            raise MissingColumnError(
                f'{header.path}: expected a column named {name!r}{hint}, its {len(positions)} features are '
                f'{", ".join(map(str, list(positions)[:SHOWN_NAMES]))}'
            )
    if unknown := positions.keys() - {*names}:
        stranger = min(unknown, key=positions.__getitem__)
        raise DataFormatError(
            f'{header.path}: expected the columns {", ".join(names[:SHOWN_NAMES])}, found also '
            f'{stranger!r}{cure.format(stranger)}'
        )
    return [positions[name] for name in names]


def check_width(path: str, form: RowOptions, options: RowOptions) -> None:
    """Raise DataFormatError when rows have another number of features than they must."""
    expected = options.n_features
    if options.table:
        expected = None
        if options.encoding is not None:
            expected = len(options.encoding.columns)
    if expected not in (None, form.width):
        raise DataFormatError(
            f'{path}: expected rows of {expected} features, found rows of {form.width}: --no-label reads rows without '
            'a label, --drop leaves columns out'
        )
