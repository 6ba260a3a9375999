"""Write a model as a query of SQL, by functions that the database has.

Weights are arrays: of a model of 2,000 nodes and 200 features, sums of products would keep a database busy for minutes
before it reads a row.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import errors, exp

from mr_elm import sparse as sp
from mr_elm.export.machines import Writer, columns_of
from mr_elm.features.forest import Forest
from mr_elm.machines.answer_columns import AnswerColumns
from mr_elm.model.base import PRESENCE_THRESHOLD, Model
from mr_elm.model.models import HiddenNodeModel, KernelModel
from mr_elm.rows.columns import MISSING_TEXTS, to_number, write_number
from mr_elm.rows.encoding import CATEGORY, DATE, THURSDAY, Column
from mr_elm.rows.text import BLANKS
from mr_elm.typing import Floats, Rows

MAX_FEATURES, MAX_NODES, MAX_TREES = 200, 2000, 100
SUM_TERMS = 16  # of a sum, before some stand in parentheses: databases limit the depth of an expression
TRUTH_VALUES = {
    'true': 'true t yes y on 1 1.0',
    'false': 'false f no n off 0 0.0',
}  # how files write what databases infer
# Types whose values a database does not write as they stood in the file, by how their names begin
REWRITTEN = "('bool', 'date', 'time', 'deci', 'nume')"
NEEDED_TYPES = {CATEGORY: 'a text type', DATE: 'DATE, TIMESTAMP, or text such as 2020-12-31'}
INFINITE = "('inf', '-inf', 'infinity', '-infinity')"  # how databases write it


@dataclass(frozen=True)
class Dialect:
    """Say how a database writes what standard SQL has no words for.

    array : of expressions. item : a number of an array, from 1. numbers : an array of constants. products,
    differences : the sum of a * b, or of |a - b|, over two arrays. days : since 1970-01-01, of a timestamp.
    each : an array of a function of a and b, over two arrays. type : of a value, as text in lower case. pair : how the
    function of each names a and b.
    """

    array: str
    item: str
    numbers: str
    products: str
    differences: str
    days: str
    each: str
    type: str
    pair: tuple[str, str] = ('a', 'b')


DIALECTS = {
    'duckdb': Dialect(
        '[{}]',
        '{}[{}]',
        "CAST('[{}]' AS DOUBLE[])",
        'LIST_DOT_PRODUCT({}, {})',
        'LIST_SUM([ABS(p[1] - p[2]) FOR p IN LIST_ZIP({}, {})])',
        'EPOCH({0}) / 86400e0',
        '[{} FOR p IN LIST_ZIP({}, {})]',
        'LOWER(TYPEOF({}))',
        ('p[1]', 'p[2]'),
    ),
    'postgres': Dialect(
        'CAST(ARRAY[{}] AS DOUBLE PRECISION[])',
        '{}[{}]',
        "CAST('{{{}}}' AS DOUBLE PRECISION[])",
        '(SELECT SUM(a * b) FROM UNNEST({}, {}) AS t(a, b))',
        '(SELECT SUM(ABS(a - b)) FROM UNNEST({}, {}) AS t(a, b))',
        'CAST(EXTRACT(EPOCH FROM {0}) AS DOUBLE PRECISION) / 86400e0',
        'ARRAY(SELECT {} FROM UNNEST({}, {}) WITH ORDINALITY AS t(a, b, i) ORDER BY i)',
        'CAST(PG_TYPEOF({}) AS TEXT)',
    ),
    'spark': Dialect(
        'ARRAY({})',
        'ELEMENT_AT({}, {})',
        "CAST(SPLIT('{}', ',') AS ARRAY<DOUBLE>)",
        'AGGREGATE(ZIP_WITH({}, {}, (a, b) -> a * b), 0e0, (s, v) -> s + v)',
        'AGGREGATE(ZIP_WITH({}, {}, (a, b) -> ABS(a - b)), 0e0, (s, v) -> s + v)',
        # UNIX_MICROS would take a timestamp for one of the time zone of the session
        "DATEDIFF({0}, DATE '1970-01-01') + HOUR({0}) / 24e0 + MINUTE({0}) / 1440e0"
        ' + EXTRACT(SECOND FROM {0}) / 86400e0',
        'ZIP_WITH({1}, {2}, (a, b) -> {0})',
        'TYPEOF({})',
    ),
    'bigquery': Dialect(
        '[{}]',
        '{}[ORDINAL({})]',
        '[{}]',
        '(SELECT SUM(a * b) FROM UNNEST({}) AS a WITH OFFSET i JOIN UNNEST({}) AS b WITH OFFSET j ON i = j)',
        '(SELECT SUM(ABS(a - b)) FROM UNNEST({}) AS a WITH OFFSET i JOIN UNNEST({}) AS b WITH OFFSET j ON i = j)',
        'UNIX_MICROS({0}) / 86400e6',
        'ARRAY(SELECT {} FROM UNNEST({}) AS a WITH OFFSET i JOIN UNNEST({}) AS b WITH OFFSET j ON i = j ORDER BY i)',
        "''",  # BigQuery does not tell types
    ),
}
# PostgreSQL stops where a number overflows, or a product underflows: e^300 and e^-300 leave some room. NaN is -gamma
# times a distance that has overflown.
EXPONENTIAL = 'CASE WHEN 0e0 - {0} < 300e0 THEN EXP(LEAST({0}, 300e0)) ELSE 0e0 END'
FUNCTIONS = {
    '+': '{0} + {1}',
    '-': '{0} - {1}',
    '*': '{0} * {1}',
    '/': '{0} / {1}',
    'power': 'POWER({0}, {1})',
    'exp': EXPONENTIAL,
    'root': 'SQRT({0})',
    'abs': 'ABS({0})',
    'sigmoid': f'1e0 / (1e0 + {EXPONENTIAL.format("(-{0})")})',
    'tanh': 'TANH({0})',
    'sine': 'SIN({0})',
    'relu': 'CASE WHEN {0} < 0 THEN 0e0 ELSE {0} END',
    'hardlimit': 'CASE WHEN {0} >= 0 THEN 1e0 ELSE 0e0 END',
    'normalised': 'CASE WHEN {1} > 0 THEN {0} / SQRT({1}) ELSE 0e0 END',
    'squares': 'CASE WHEN {0} < 0 THEN 0e0 ELSE {0} END',
    'distances': 'CASE WHEN {0} < {1} THEN 0e0 ELSE SQRT({0}) END',
    'largest': 'CASE WHEN {0} = {1} THEN {2} ELSE -1e308 END',
}

Columns = list[str]


class Query(Writer):
    """Collect columns, step by step: a step knows the columns of those before it. Values are k expressions.

    dialect : a key of DIALECTS.
    """

    def __init__(self, dialect: str) -> None:
        self.dialect, self.words = dialect, DIALECTS[dialect]
        self.steps: list[dict[str, str]] = []  # expression -> name
        self.step_of: dict[str, int] = {}
        self.arrays: dict[tuple[str, ...], str] = {}  # all values of an array -> its name
        self.real, self.string = (exp.DataType.build(kind).sql(dialect) for kind in ('double', 'text'))

    def put(self, inputs: Iterable[str], *expressions: str) -> Columns:
        """Add a column to the step behind those of its inputs, of several expressions an array; return the values.

        PostgreSQL has at most 1,664 columns, so nodes are the numbers of an array.
        """
        if len(expressions) > 1:
            return self.put_array(inputs, self.words.array.format(', '.join(expressions)), len(expressions))
        return [self._add(inputs, expressions[0])]

    def put_array(self, inputs: Iterable[str], expression: str, length: int) -> Columns:
        """Add an array; return its values."""
        name = self._add(inputs, expression)
        values = [self.words.item.format(name, k + 1) for k in range(length)]
        self.arrays[tuple(values)] = name
        self.step_of.update(dict.fromkeys(values, self.step_of[name]))
        return values

    def _add(self, inputs: Iterable[str], expression: str) -> str:
        step = 1 + max((self.step_of[value] for value in inputs), default=-1)
        self.steps += [{} for _ in range(step + 1 - len(self.steps))]
        name = self.steps[step].setdefault(expression, f'c{step + 1}_{len(self.steps[step]) + 1}')
        self.step_of[name] = step
        return name

    def apply(self, kind: str, *operands: Columns | Floats) -> Columns:
        """Write a function of values or numbers.

        It stands once in the query where they are arrays: DuckDB takes minutes to plan a thousand cases.
        """
        template, size = FUNCTIONS[kind], max(map(len, operands))
        inputs = []
        arrays, texts = [], []
        for k, values in enumerate(operands):
            if f'{{{k}}}' not in template:
                continue
            if isinstance(values, list):
                inputs += values
                arrays.append(self.arrays.get(tuple(values)))
            else:
                values = list(map(write, np.broadcast_to(values, size)))
                arrays.append(self.words.numbers.format(','.join(values)))
            texts.append(values * (size // len(values)))
        if all(arrays):
            expression = template.format(*self.words.pair)
            return self.put_array(inputs, self.words.each.format(expression, arrays[0], arrays[-1]), size)
        return self.put(inputs, *map(template.format, *texts))

    def gather(self, values: Columns) -> str:
        """Return an array that holds the values."""
        return self.arrays.get(tuple(values)) or self.words.array.format(', '.join(values))

    def quote(self, name: str) -> str:
        """Write the name of a column of the table."""
        return exp.to_identifier(name, quoted=True).sql(self.dialect)

    def text(self, value: str) -> str:
        """Write a text."""
        return exp.Literal.string(value).sql(self.dialect)

    def read(self, name: str) -> str:
        """Write a value as text without the blanks around it, '' for a missing one."""
        text = exp.Trim(this=exp.Var(this=f'CAST({name} AS {self.string})'), expression=exp.Literal.string(BLANKS))
        return f"COALESCE({text.sql(self.dialect)}, '')"

    def texts(self, values: Iterable[str]) -> str:
        """Write a list of texts."""
        return f'({", ".join(map(self.text, values))})'

    def write(self, table: str, columns: dict[str, str], keep: Sequence[str]) -> str:
        """Return the query. columns : name -> expression. keep : names of columns of the table."""
        carried_columns = {f'kept_{k + 1}': self.quote(name) for k, name in enumerate(keep)}
        parts, source, carried = [], table, [f'{name} AS {inner}' for inner, name in carried_columns.items()]
        # PostgreSQL would write each step into the next one, and compute it as often as that one names it
        kind = 'AS'
        if self.dialect == 'postgres':
            kind = 'AS MATERIALIZED'
        for k, step in enumerate(self.steps):
            select_list = ',\n    '.join([*carried, *(f'{expression} AS {name}' for expression, name in step.items())])
            parts.append(f'step_{k + 1} {kind} (\n  SELECT\n    {select_list}\n  FROM {source}\n)')
            source, carried = f'step_{k + 1}', ['*']
        select_list = ',\n  '.join(
            [
                *(f'{expression} AS {self.quote(name)}' for name, expression in columns.items()),
                *(f'{inner} AS {name}' for inner, name in carried_columns.items()),
            ]
        )
        return f'WITH {", ".join(parts)}\nSELECT\n  {select_list}\nFROM {source}\n'

    def multiply(self, Z: Columns, W: Rows, b: Floats) -> Columns:
        """Write Z W' + b."""
        return self.combine('products', Z, sp.expand(W), b)

    def combine(self, how: str, Z: Columns, W: Floats, b: Floats) -> Columns:
        """Write sums over two arrays, those of columns and W (L, d), + b. how : products or differences."""
        sums, array = getattr(self.words, how), self.gather(Z)
        numbers = [self.words.numbers.format(','.join(map(write, row))) for row in W]
        if self.dialect != 'postgres':
            return self.put(Z, *(f'{sums.format(array, row)} + {write(r)}' for row, r in zip(numbers, b, strict=True)))
        # PostgreSQL would compile each of a thousand sums for a tenth of a second before it reads a row
        rows = ', '.join(f'({k}, {row}, {write(r)})' for k, (row, r) in enumerate(zip(numbers, b, strict=True)))
        each = f'SELECT {sums.format(array, "w")} + r FROM (VALUES {rows}) AS v(k, w, r) ORDER BY k'
        return self.put_array(Z, f'ARRAY({each})', len(numbers))

    def add_differences(self, Z: Columns, A: Floats) -> Columns:
        """Write the distances |z - a|_1."""
        return self.combine('differences', Z, A, np.zeros(len(A)))

    def total(self, values: Columns) -> Columns:
        """Write the sum of the values, one column."""
        return self.put(values, add_up(values))

    def most(self, values: Columns) -> Columns:
        """Write the largest of the values, one column."""
        return self.put(values, f'GREATEST({", ".join(values)})')

    def fall(self, forest: Forest, X: Columns, B: Floats) -> Columns:
        """Write the sums over the trees of the weights of leaves."""

        def choose(node: int, weights: Floats) -> str:
            child = forest.children[node]
            if forest.features[node] < 0:
                return write(weights[child])
            condition = f'{X[forest.features[node]]} <= {write(forest.thresholds[node])}'
            return f'CASE WHEN {condition} THEN {choose(child, weights)} ELSE {choose(child + 1, weights)} END'

        return self.put(X, *(add_up([choose(root, weights) for root in forest.roots]) for weights in B.T))

    def precede(self, number: float, values: Columns) -> Columns:
        """Write a number before one value."""
        return self.put(values, write(number), *values)

    def pick(self, values: Columns, number: int) -> Columns:
        """Write one of several values."""
        return [values[number]]

    def choose(self, values: Columns, names: Sequence[str]) -> Columns:
        """Write the name of the largest value, the first of equal ones."""
        (best,) = self.most(values)
        cases = map(f'WHEN {{}} = {best} THEN {{}}'.format, values, map(self.text, names))
        return self.put([best, *values], f'CASE {" ".join(cases)} END')

    def join_names(self, scores: Columns, names: Sequence[str], separator: str) -> Columns:
        """Write the names of the labels whose score is above PRESENCE_THRESHOLD."""
        present = [f'{score} > {write(PRESENCE_THRESHOLD)}' for score in scores]
        parts = []
        for k, name in enumerate(names):
            label = self.text(name)
            if k:
                label = f'CASE WHEN {" OR ".join(present[:k])} THEN {self.text(separator + name)} ELSE {label} END'
            parts.append(f"CASE WHEN {present[k]} THEN {label} ELSE '' END")
        return self.put(scores, ' || '.join(parts))


def write(number: float) -> str:
    """Write a number as one of float64: without an exponent it would be a decimal one in some databases."""
    text = repr(float(number))
    if 'e' in text:
        return text
    return f'{text}e0'


def add_up(terms: Sequence[str], sign: str = ' + ') -> str:
    """Write a sum whose parentheses are not deep."""
    while len(terms) > SUM_TERMS:
        terms = [f'({sign.join(terms[start : start + SUM_TERMS])})' for start in range(0, len(terms), SUM_TERMS)]
    return sign.join(terms)


def make_sql(model: Model, table: str = 'rows', dialect: str = 'duckdb', keep: Sequence[str] = ()) -> str:
    """Return a model as one SELECT, whose columns are those of `mr-elm predict --scores` to a table.

    Probabilities follow the scores of a calibrated model. All are NULL for a row that the model cannot use: where a
    number is missing that no mean stands for, or is infinite; where a column of categories has a truth value, a date, a
    time or a decimal number that is no category.

    table : its name. It has the columns of the training; those of rows without names are x1, x2, ...
    keep : names of other columns of the table that are copied.
    Raises ValueError where the model is too large for a query, or cannot be written.
    """
    demand_small(model)
    query = Query(dialect)
    try:
        source = exp.to_table(table, dialect=dialect).sql(dialect, identify=True)
    except errors.SqlglotError:
        raise ValueError(f'--table: expected the name of a table, found {table!r}') from None
    columns = columns_of(model) or [Column(f'x{j + 1}', mean=np.nan) for j in range(model.n_features)]
    names = [column.name.lower() for column in columns]
    twice = [column.name for column in columns if names.count(column.name.lower()) > 1]
    if twice and dialect != 'postgres':
        raise ValueError(
            f'export: expected columns whose names differ not only in case, which {dialect} ignores, found '
            f'{", ".join(map(repr, twice))}: rename some of them before the training'
        )
    features = [part for column in columns for part in write_column(query, column)]
    (known,) = query.put(features, add_up([f'{feature} IS NOT NULL' for feature in features], ' AND '))
    features = query.put(features, *(f'COALESCE({feature}, 0e0)' for feature in features))
    label, *numbers = query.write_answers(model, features)
    if model.numeric:
        numbers = []
    answers = [f'CASE WHEN {known} THEN {value} END' for values in (label, *numbers) for value in values]
    names = AnswerColumns(True, 'calibration' in model.arrays).names(model)
    needed = [
        f'-- {column.name!r} needs {NEEDED_TYPES[column.kind]}\n' for column in columns if column.kind in NEEDED_TYPES
    ]
    return ''.join(needed) + query.write(source, dict(zip(names, answers, strict=True)), keep)


def demand_small(model: Model) -> None:
    """Raise ValueError where a query would be too long for databases."""
    nodes = trees = 0
    for machine in model.members:
        trees += len(machine.arrays.get('tree_roots', ()))
        if isinstance(machine, HiddenNodeModel):
            nodes += len(machine.layer.biases)
        elif isinstance(machine, KernelModel) and machine.kernel.name != 'linear':
            nodes += machine.support_vectors.shape[0]
    smaller = 'train a smaller model'
    if model.header.method == 'auto':
        smaller += f' (auto with --budget {MAX_NODES // 4})'  # it averages up to four machines
    for count, most, what, cure in (
        (model.n_features, MAX_FEATURES, 'features', 'train on fewer columns (--columns or --drop)'),
        (trees, MAX_TREES, 'trees', smaller),
        (nodes, MAX_NODES, 'nodes or support vectors', smaller),
    ):
        if count > most:
            raise ValueError(
                f'export: expected at most {most:,} {what} for a query of SQL, found {count:,}: {cure}, '
                'or export a graph of ONNX'
            )


def write_column(query: Query, column: Column) -> Columns:
    """Write the features of a column. Dates are DATE, TIMESTAMP, or text of ISO 8601."""
    name = query.quote(column.name)
    if column.kind != DATE:
        return write_part(query, column, name, [])
    present = f'{query.read(name)} NOT IN {query.texts(MISSING_TEXTS)}'
    timestamp = exp.DataType.build('timestamp').sql(query.dialect)
    (moment,) = query.put([], f'CASE WHEN {present} THEN CAST({name} AS {timestamp}) END')
    numbers = [query.words.days.format(moment), f'EXTRACT(MONTH FROM {moment})']
    if column.categories:
        numbers.append(f'EXTRACT(HOUR FROM {moment})')
    days, month, *hours = query.put([moment], *numbers)
    since_monday = f'(FLOOR({days}) + {THURSDAY})'
    (weekday,) = query.put([days], f'{since_monday} - 7 * FLOOR({since_monday} / 7e0) + 1')
    values = zip(column.parts, (days, month, weekday, *hours), strict=True)
    return [feature for part, value in values for feature in write_part(query, part, value, [value])]


def write_part(query: Query, column: Column, name: str, inputs: Columns) -> Columns:
    """Write the features of numbers or categories, whose values an expression of some columns gives."""
    if column.kind == CATEGORY:
        text = query.read(name)
        value = f"CASE WHEN {text} IN {query.texts(MISSING_TEXTS)} THEN '' ELSE {text} END"
        spellings = [spell(category, column) for category in column.categories]
        other = '1e0'
        if spellings:
            other = (
                f'CASE WHEN {value} IN {query.texts(sum(spellings, []))} THEN 0e0 '
                f"WHEN {value} <> '' AND SUBSTR({query.words.type.format(name)}, 1, 4) IN {REWRITTEN} THEN NULL "
                'ELSE 1e0 END'
            )
        return query.put(
            inputs, *(f'CASE WHEN {value} IN {query.texts(each)} THEN 1e0 ELSE 0e0 END' for each in spellings), other
        )
    number = f'CAST({name} AS {query.real})'
    text = f'LOWER(CAST({name} AS {query.string}))'
    unusable = f"{name} IS NULL OR {text} = 'nan'"
    if np.isnan(column.mean):
        mean = 'NULL'
    else:
        mean = write(column.mean)
    values = [f'CASE WHEN {unusable} THEN {mean} WHEN {text} IN {INFINITE} THEN NULL ELSE {number} END']
    if column.missing:
        values.append(f'CASE WHEN {unusable} THEN 1e0 ELSE 0e0 END')
    return query.put(inputs, *values)


def spell(category: str, column: Column) -> list[str]:
    """Return how a database may write a category in a column of text, numbers, truth values or times."""
    texts = {category, re.sub(r'^\d\d:\d\d$', r'\g<0>:00', category)}
    number = to_number(category)
    if number is not None and number in column.by_value:
        written = write_number(number)
        texts |= {written, f'{written}.0'}
    for written, words in TRUTH_VALUES.items():
        if [other for other in column.categories if other.lower() in words.split()] == [category]:
            texts |= {written, written.title()}
    return [category, *sorted(texts.difference(column.categories))]
