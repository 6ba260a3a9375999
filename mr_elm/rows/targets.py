"""Know the targets or labels of rows that have several: say them to readers, and demand those that were packed."""
from collections.abc import Mapping
from typing import Any

from mr_elm.errors import DataFormatError
from mr_elm.rows.formats import MISSING_LABELS, RowFormat, RowOptions
from mr_elm.rows.text import quote


def label_facts(form: RowFormat) -> dict[str, Any]:
    """Return what a reader of similar rows must know of several targets or labels, and of missing ones."""
    missing = {} if form.missing_labels == MISSING_LABELS else {'missing_labels': list(form.missing_labels)}
    names = {'target_names': list(form.target_names)} if form.target_names else {}
    targets = {'target_columns': list(form.target_columns), **names} if form.target_columns else {}
    several = targets if form.labels_separator is None else {'labels_separator': form.labels_separator}
    return several | missing


def check_labels_of_pack(pack: str | None, manifest: Mapping[str, Any], options: RowOptions) -> dict[str, Any]:
    """Return what the format of packed rows says of several targets or labels, and of missing ones.

    Raises DataFormatError when the user, or a model, expects others.
    """
    packed = manifest['input']
    columns, names = tuple(packed.get('target_columns', ())), packed.get('target_names')
    separator = packed.get('labels_separator')
    wanted = options.target_names or options.targets
    found = tuple(names or columns)
    if options.labelled and not options.ignore_label and wanted and tuple(map(str, wanted)) != tuple(map(str, found)):
        raise DataFormatError(f'{pack}: expected rows packed with the targets {", ".join(map(str, wanted))}, found '
                              f'{", ".join(map(str, found)) or "one label"}: pack them again (mr-elm pack --targets)')
    if options.labels_separator not in (None, separator):
        raise DataFormatError(f'{pack}: expected rows packed with --labels-separator {options.labels_separator!r}, '
                              f'found {"one label in each row" if separator is None else repr(separator)}: pack them '
                              'again')
    if missing := sorted(set(manifest['labels']) & set(options.missing_labels or ())):
        raise DataFormatError(f'{pack}: expected rows without the missing label {quote(missing[0])}, the pack has '
                              'some: pack them again with the same --missing-labels')
    return {'target_columns': columns, 'target_names': names and tuple(names), 'labels_separator': separator,
            'missing_labels': tuple(packed.get('missing_labels', MISSING_LABELS))}


def demand_several_targets(path: str, form: RowFormat, options: RowOptions) -> None:
    """Raise DataFormatError when several targets are wanted of rows of a kind that has one label."""
    if len(options.targets) > 1 and form.labelled and not (
            form.target_columns or options.ignore_label or form.kind == 'packed'):
        raise DataFormatError(f'{path}: expected csv, parquet or arrow rows for several targets, found {form.kind} '
                              'rows, which have one label')
