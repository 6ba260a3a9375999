"""Say how rows are written: what the user asked, what a training had, and what was decided of a file."""

import argparse
import codecs
import csv
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from mr_elm.errors import one_line
from mr_elm.option import add_options, option, option_fields
from mr_elm.rows.text import read_exact

# name -> its Kind; csv stands last, it takes what no other kind recognises
KINDS = {
    'parquet': 'mr_elm.rows.arrow_files:PARQUET_KIND',
    'arrow': 'mr_elm.rows.arrow_files:ARROW_KIND',
    'packed': 'mr_elm.rows.packs:KIND',
    'wire': 'mr_elm.rows.wire_rows:KIND',
    'libsvm': 'mr_elm.rows.libsvm_rows:KIND',
    'csv': 'mr_elm.rows.csv_format:KIND',
}
TASKS = ('classification', 'regression')
REFUSE, AUTO = 'refuse', 'auto'
INPUT = 'input'  # heading of these options in the help
MAX_CATEGORIES = 100  # values of a column that have a feature of their own
# what pandas, R, SQL and Python write where a value is missing; `none` and `na` are words, so they are classes
MISSING_LABELS = ('', 'NA', '<NA>', 'NaN', 'nan', 'NAN', '-nan', 'null', 'NULL', 'None')
HEADERS = {'auto': None, 'yes': True, 'no': False}
ColumnPlace = Any  # a name or a position; what was decided is a position alone
OF_LABELS = 'targets', 'labels_separator'  # options of a training, and of stages
OF_ENCODING = 'encode', 'category', 'dates', 'max_categories'  # options of commands that choose an encoding
OF_ROWS = (
    'labelled',
    'ignore_label',
    'numeric_labels',
    'target',
    'labels_separator',
    'missing_labels',
    'held_out',
    'tested',
    'unseen',
)


def read_columns(text: str) -> tuple[str, ...]:
    """Read a list of names or indexes of columns, as csv writes names that hold a comma."""
    names = tuple(next(csv.reader([text], skipinitialspace=True), []))
    if not all(names) or not names:
        raise argparse.ArgumentTypeError(f'expected names or indexes of columns, with commas between, found {text!r}')
    return names


def read_texts(text: str) -> tuple[str, ...]:
    """Read a list of texts, as csv writes them; one of them may be empty."""
    return tuple(field.strip() for field in next(csv.reader([text], skipinitialspace=True)) or [''])


def read_delimiter(text: str) -> str | None:
    """Read --delimiter: one character, auto, or None for white space."""
    character = {'space': None, 'tab': '\t', '\\t': '\t'}.get(text, text)
    if character not in (None, 'auto') and (len(character) != 1 or not character.isascii() or character in '"\r\n'):
        raise argparse.ArgumentTypeError(f'expected one character of ASCII but a quote, tab or space, found {text!r}')
    return character


def read_charset(text: str) -> str | None:
    """Read the name of an encoding of text; None for UTF-8."""
    try:
        name = codecs.lookup(text).name
        'a'.encode(name)
    except (LookupError, ValueError):
        raise argparse.ArgumentTypeError(
            f'expected the name of an encoding of text, such as cp1252, found {text!r}'
        ) from None
    if name in ('utf-8', 'ascii'):
        return None
    return name


def read_separator(text: str) -> str:
    """Read --labels-separator: one character or more that are no white space."""
    if not text.strip():
        raise argparse.ArgumentTypeError(
            f'expected a character that stands between labels, such as ";", found {text!r}'
        )
    return text.strip()


def read_header(text: str) -> bool | None:
    """Read --header."""
    if text not in HEADERS:
        raise argparse.ArgumentTypeError(f'expected one of {", ".join(HEADERS)}, found {text!r}')
    return HEADERS[text]


COLUMNS: dict[str, Any] = {'group': INPUT, 'metavar': 'NAME,...', 'advanced': True, 'read': read_columns}


@dataclass(frozen=True)
class RowOptions:
    """Say how rows are written: what is known before a file was looked at, or, once it was, all that was decided.

    What is 'auto' or None is found in the file. Columns are names, or positions from 0, negative from the end; in what
    was decided they are positions alone.

    kind : a name in KINDS.
    delimiter : one character, or None for runs of white space (csv). decimal : the decimal point (csv).
    header : whether the first line names the columns (csv). charset : the encoding of text, None for UTF-8.
    label_column, weight_column : None where rows have none.
    labelled : whether rows carry a label. ignore_label : pass over the label, whatever it is (prediction).
    numeric_labels : whether a label must be a finite number (regression).
    target : log: machines learn the logarithms of targets, which are above 0; none: the targets as they are.
    targets : the columns of several targets. labels_separator : what stands between the labels of a row.
    missing_labels : texts that stand for a missing label, None for MISSING_LABELS.
    columns, drop : the only features, and columns that are none; None where the user said nothing.
    part_by : columns that name the part of a row, and are no features.
    n_features : width that rows must have or fit in.
    ignore_extra : drop features beyond n_features instead of rejecting the row (libsvm).
    encode : auto, or refuse: text where a number belongs, and missing values, are then bad rows.
    encoding : Encoding of the rows, None where it is yet to be chosen, or there is none.
    max_categories : values of a category that have a feature of their own.
    category : columns that are categories even if all their values are numbers or dates.
    dates : auto: a column of dates becomes days, months, weekdays and hours; or refuse.
    names, label_name, weight_name, target_names : what the columns of features, label, weight and targets are called
        in files with names.
    positions : of the features in a file without names, None for all but label, weight and `dropped`.
    dropped : columns that were left out; another file need not have them.
    trained : how the file of a training was read; None where there was none.
    held_out : share of the rows that a training does not see, chosen by a keyed hash of the features.
    tested : whether the held-out rows are read, and the others are not.
    unseen : share of the rows, of those held out, that are not read either: another test has them.

    Only decided: n_columns : fields a row, label and weight included. blank_bytes : bytes of the blank lines above the
    first line that is not blank (csv). header_line : the line of names, byte for byte (csv). folders : (name, text) of
    the columns that the names of folders hold, as in city=Oslo (parquet, arrow). styles : (position, prefix, suffix,
    thousands) of the columns whose numbers have a `Style` (csv). idle : positions of the columns that are left out
    because they hold nothing (csv). numbers : positions of the columns of a table that are read as numbers at once, not
    as text first (csv). part_names : what the columns of `part_by` are called.
    """

    kind: str = option(
        'auto',
        'how rows are written (default: detected from the file)',
        INPUT,
        ('auto', *sorted(KINDS)),
        flag='--format',
        advanced=True,
    )
    delimiter: str | None = option(
        'auto',
        'one character, or "space" for white space (default: detected from the file)',
        INPUT,
        metavar='X',
        advanced=True,
        read=read_delimiter,
    )
    decimal: str = option(
        'auto',
        'the decimal point of a csv file (default: detected from the file)',
        INPUT,
        ('auto', '.', ','),
        advanced=True,
    )
    header: bool | None = option(
        None,
        'whether the first line of a csv file names the columns (default: detected from the file)',
        INPUT,
        metavar=f'{{{",".join(HEADERS)}}}',
        advanced=True,
        read=read_header,
    )
    charset: str | None = option(
        None,
        'how text is encoded, such as cp1252 (default: UTF-8, or UTF-16 where the file begins so)',
        INPUT,
        flag='--encoding',
        metavar='NAME',
        advanced=True,
        read=read_charset,
    )
    label_column: ColumnPlace = option(
        0,
        "name or index of the label (default: 0 or the model's)",
        INPUT,
        metavar='NAME|INDEX',
        read=str,
        unsaid=None,
    )
    weight_column: ColumnPlace = option(
        None,
        'name or index of the column that says how often each row counts; `none` if the model was trained with '
        'weights, but these rows have none',
        INPUT,
        metavar='NAME|INDEX',
        advanced=True,
        read=str,
    )
    labelled: bool = True
    ignore_label: bool = False
    numeric_labels: bool = False
    target: str = option(
        'none',
        'regression: log: learn logarithms, for targets above 0 such as prices. Predictions are exp of learned values: '
        'medians rather than means, never below 0. auto: log where its error on held-out rows is smaller',
        INPUT,
        ('none', 'log', 'auto'),
        advanced=True,
    )
    targets: tuple[ColumnPlace, ...] = option(
        (),
        'regression: names or indexes of several targets, instead of --label-column',
        **COLUMNS,
    )
    labels_separator: str | None = option(
        None,
        'classification: a row may have several labels, or none; X stands between them, such as ";"',
        INPUT,
        metavar='X',
        advanced=True,
        read=read_separator,
    )
    missing_labels: tuple[str, ...] | None = option(
        None,
        'texts that stand for a missing label, as an empty one does; such a row is bad (default: '
        f'{",".join(MISSING_LABELS[1:])}, or those of the model)',
        INPUT,
        metavar='A,...',
        advanced=True,
        read=read_texts,
    )
    columns: tuple[str, ...] | None = option(
        None,
        'names or indexes of the only columns that are features (default: all, or those of the model)',
        **COLUMNS,
    )
    drop: tuple[str, ...] | None = option(
        None,
        'names or indexes of columns that are not features; with a model, those that its training left out need '
        'not be named again',
        **COLUMNS,
    )
    part_by: tuple[ColumnPlace, ...] = option(
        (),
        'keep the sums of parts of the rows too, for `mr-elm parts`. `file` makes a part for each input file; '
        'names or indexes of columns make one for each of their values, and are then no features',
        **COLUMNS,
    )
    n_features: int | None = option(
        None, 'features of a row (default: detected from the file)', INPUT, metavar='D', advanced=True
    )
    ignore_extra: bool = False
    encode: str = option(REFUSE, 'auto: accept text and missing values', INPUT, (REFUSE, AUTO))
    encoding: Any = None
    max_categories: int = option(
        MAX_CATEGORIES,
        '--encode auto: how many values of a column, the most frequent ones, get a feature of their own; the others '
        'share one',
        INPUT,
        metavar='K',
        advanced=True,
    )
    category: tuple[ColumnPlace, ...] = option(
        (),
        '--encode auto: names or indexes of columns whose numbers are names, such as a postal code: each value gets '
        'a feature of its own',
        **COLUMNS,
    )
    dates: str = option(
        AUTO,
        '--encode auto: a column of dates becomes a number of days, and categories of months, weekdays and hours; '
        'refuse: it is an error',
        INPUT,
        (AUTO, REFUSE),
        advanced=True,
    )
    names: tuple[str, ...] | None = None
    label_name: str | None = None
    weight_name: str | None = None
    target_names: tuple[str, ...] | None = None
    positions: tuple[int, ...] | None = None
    dropped: tuple[str | int, ...] = ()
    trained: 'RowOptions | None' = None
    held_out: float = 0.0
    tested: bool = False
    unseen: float = 0.0
    n_columns: int | None = None
    blank_bytes: int = 0
    header_line: str = ''
    folders: tuple[tuple[str, str], ...] = ()
    styles: tuple[tuple[int, str, str, str], ...] = ()
    idle: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    part_names: tuple[str, ...] = ()
    __repr__ = one_line

    @classmethod
    def of_arguments(cls, args: argparse.Namespace, **values: Any) -> 'RowOptions':
        """Make what the user asked for of the options that commands and stages have; `values` overrides."""
        arguments = {field.name: getattr(args, field.name) for field in fields(cls) if hasattr(args, field.name)}
        if args.label_column is None:
            arguments['label_column'] = 0
        if args.weight_column == 'none':
            arguments['weight_column'] = None
        return cls(**arguments | values)

    def decide(self, kind: str, **decided: Any) -> 'RowOptions':
        """Return how a file of a kind is read: as decided, and as was said of labels and of rows held out."""
        return RowOptions(kind, **{name: getattr(self, name) for name in OF_ROWS} | decided)

    def to_json(self) -> dict[str, Any]:
        """Return what was decided as a dictionary that JSON can hold, without what is usual."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> 'RowOptions':
        """Undo `to_json`."""
        return cls(**{field.name: to_tuple(values[field.name]) for field in fields(cls) if field.name in values})

    @property
    def table(self) -> bool:
        """Tell whether rows may hold text and missing values: they are read as a `Table`, to be encoded."""
        return self.encode == 'auto' or self.encoding is not None

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """Return the texts that stand for a missing label; an empty label is missing whatever they are."""
        if self.missing_labels is None:
            return MISSING_LABELS
        return self.missing_labels

    @cached_property
    def missing_numbers(self) -> frozenset[Any]:
        """Return the numbers that stand for a missing label: -1 does so where a file has -1.0."""
        return frozenset(map(read_exact, self.missing_texts)) - {None}

    @cached_property
    def styles_by_column(self) -> dict[int, tuple[str, str, str]]:
        """Return position -> (prefix, suffix, thousands) of the columns whose numbers have a style."""
        return {position: signs for position, *signs in self.styles}  # type: ignore[misc]

    def name_column(self, position: int) -> str:
        """Name a column for a message."""
        names = dict(zip(self.feature_positions, self.names or (), strict=False))
        names |= zip(self.targets, self.target_names or (), strict=False)
        names |= {self.label_column: self.label_name, self.weight_column: self.weight_name}
        if names.get(position):
            return f'column {names[position]!r}'
        return f'column {position} (counted from 0)'

    @property
    def label_columns(self) -> tuple[ColumnPlace, ...]:
        """Return the label, or all targets."""
        return self.targets or (() if self.label_column is None else (self.label_column,))

    @property
    def used_labels(self) -> tuple[int, ...]:
        """Return the label, or all targets; none where these are ignored."""
        if self.ignore_label:
            return ()
        return self.label_columns

    @cached_property
    def used_columns(self) -> list[int]:
        """List the columns that are read."""
        columns = {*self.feature_positions, *self.used_labels, self.weight_column, *self.part_by}
        return sorted(columns - {None})

    @property
    def width(self) -> int:
        """Count the columns that are features."""
        return len(self.feature_positions)

    @cached_property
    def feature_positions(self) -> tuple[int, ...]:
        """Return which column each feature is."""
        if self.positions is not None:
            return self.positions
        return tuple(j for j in range(self.n_columns or 0) if j not in (*self.label_columns, self.weight_column))


def to_tuple(value: Any) -> Any:
    """Turn lists that come from JSON into tuples again."""
    if isinstance(value, list):
        return tuple(map(to_tuple, value))
    return value


@dataclass(frozen=True)
class RowUse:
    """Say what a job does with rows. no_label : whether they have no label."""

    bad_rows: str = option('stop', 'stop, or skip and count bad rows', INPUT, ('stop', 'skip'))
    task: str = option('classification', 'what the labels are', choices=TASKS)
    no_label: bool = option(False, 'the rows have no label')


def add_row_options(add: Callable[[str], Callable], *names: str) -> None:
    """Add the options that say how rows are written. add : see `add_options`. names : of the others to add."""
    add_options(
        add, RowOptions, {*option_fields(RowOptions)} - {'target', 'part_by', *OF_LABELS, *OF_ENCODING} | {*names}
    )
    add_options(add, RowUse, {'bad_rows', *names})
