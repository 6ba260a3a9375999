"""Declare the options that say how rows are written, the same for commands and for stages run by hand."""
import argparse
import codecs
import csv
from collections.abc import Callable

from mr_elm.rows.formats import MAX_CATEGORIES, MAX_FEATURES, MISSING_LABELS, RowOptions
from mr_elm.rows.kinds import KINDS


class AdvancedHelp(str):
    """Hold the help of an option that `--help` leaves out and `--help-all` shows."""


def add_stage_arguments(add: Callable) -> None:
    """Add all that a stage must know of rows and labels. add : see `add_row_arguments`."""
    for add_some in (add_row_arguments, add_task_argument, add_target_arguments, add_no_label_argument):
        add_some(add)


def add_row_arguments(add: Callable) -> None:
    """Add the options that say how rows are written. add : the `add_argument` of a parser, or what stands for it."""
    add('--format', choices=('auto', *sorted(KINDS)), default='auto',
        help=AdvancedHelp('how rows are written (default: detected from the file)'))
    add('--delimiter', type=read_delimiter, default='auto', metavar='X',
        help=AdvancedHelp('one character, or "space" for white space (default: detected from the file)'))
    add('--decimal', choices=('auto', '.', ','), default='auto',
        help=AdvancedHelp('the decimal point of a csv file (default: detected from the file)'))
    add('--encoding', type=read_charset, metavar='NAME', help=AdvancedHelp(
        'how text is encoded, such as latin-1 or cp1252 (default: UTF-8, or UTF-16 where the file begins so)'))
    add('--header', choices=('auto', 'yes', 'no'), default='auto',
        help=AdvancedHelp('whether the first line of a csv file names the columns (default: detected from the file)'))
    add('--label-column', metavar='NAME|INDEX',
        help="name or index of the label (default: 0 or the model's)")
    add('--weight-column', metavar='NAME|INDEX',
        help=AdvancedHelp('name or index of the column that says how often each row counts; `none` if the '
                          'rows for a model that was trained with weights have none'))
    add('--columns', type=read_columns, metavar='NAME,...', help=AdvancedHelp(
        'names or indexes of the only columns that are features (default: all, or those of the '
        'model)'))
    add('--drop', type=read_columns, metavar='NAME,...', help=AdvancedHelp(
        'names or indexes of columns that are not features (default: none, or those that the '
        'training of the model left out)'))
    add('--n-features', type=positive, metavar='D', help=AdvancedHelp(
        'features of a row (default: detected from the file)'))
    add('--max-features', type=positive, default=MAX_FEATURES, metavar='D',
        help=AdvancedHelp('largest index that libsvm text may have (default: %(default)s)'))
    add('--missing-labels', type=read_texts, metavar='A,...', help=AdvancedHelp(
        'texts that stand for a missing label, with which a row is bad; an empty label always is (default: '
        f'{",".join(MISSING_LABELS[1:])}, or those of the model)'))
    add('--bad-rows', choices=('stop', 'skip'), default='stop',
        help='stop, or skip and count bad rows (default: %(default)s)')


def add_task_argument(add: Callable) -> None:
    """Add --task. add : see `add_row_arguments`."""
    add('--task', choices=('classification', 'regression'), default='classification',
        help='what the labels are (default: %(default)s)')


def add_target_arguments(add: Callable) -> None:
    """Add the options of several targets and of several labels. add : see `add_row_arguments`."""
    add('--targets', type=read_columns, default=(), metavar='NAME,...', help=AdvancedHelp(
        'regression: names or indexes of several targets, instead of --label-column'))
    add('--labels-separator', type=read_separator, metavar='X', help=AdvancedHelp(
        'classification: a row may have several labels, or none; X stands between them, such as ";"'))


def add_no_label_argument(add: Callable) -> None:
    """Add --no-label. add : see `add_row_arguments`."""
    add('--no-label', action='store_true', help='the rows have no label')


def add_encode_arguments(add: Callable) -> None:
    """Add how text and missing values become features. add : see `add_row_arguments`."""
    add('--encode', choices=('refuse', 'auto'), default='refuse',
        help='auto: accept text and missing values (default: %(default)s)')
    add('--max-categories', type=positive, default=MAX_CATEGORIES, metavar='K', help=AdvancedHelp(
        '--encode auto: values of a column, the most frequent ones, that have an indicator of their own; the others '
        'share one (default: %(default)s)'))


def read_columns(text: str) -> tuple[str, ...]:
    """Read a list of names or indexes of columns, as csv writes names that hold a comma."""
    names = next(csv.reader([text], skipinitialspace=True), [])
    if not all(names) or not names:
        raise argparse.ArgumentTypeError(f'expected names or indexes of columns, with commas between, found {text!r}')
    return tuple(names)


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
        raise argparse.ArgumentTypeError(f'expected the name of an encoding of text, such as latin-1, found {text!r}'
                                         ) from None
    return None if name in ('utf-8', 'ascii') else name


def read_separator(text: str) -> str:
    """Read --labels-separator: one character or more that are no white space."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f'expected a character that stands between labels, such as ";", found '
                                         f'{text!r}')
    return text.strip()


def positive(text: str) -> int:
    """Read a whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'expected a whole number above 0, found {text!r}')
    return int(text)


def row_options(args: argparse.Namespace, **known: object) -> RowOptions:
    """Make the RowOptions that the user asked for; `known` overrides."""
    return RowOptions(**{
        'kind': args.format, 'delimiter': args.delimiter, 'header': args.header,
        'weight_column': None if args.weight_column == 'none' else args.weight_column,
        'label_column': 0 if args.label_column is None else args.label_column,
        'n_features': args.n_features, 'max_features': args.max_features, 'columns': args.columns, 'drop': args.drop,
        'missing_labels': args.missing_labels, 'decimal': args.decimal, 'charset': args.encoding,
        **{name: getattr(args, name) for name in ('encode', 'max_categories', 'targets', 'labels_separator')
           if hasattr(args, name)}, **known})
