"""Write a model as a query of SQL, by functions that the database has.

Weights are arrays: of a model of 2,000 nodes and 200 features, sums of products would keep a database busy for minutes
before it reads a row.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from sqlglot import errors, exp

from mr_elm import sparse as sp
from mr_elm.export.columns import columns_of, demand_known
from mr_elm.export.machines import Writer
from mr_elm.features.forest import Forest
from mr_elm.features.kernels import ROUNDING, row_squares
from mr_elm.machines.answer_columns import AnswerColumns
from mr_elm.model.base import PRESENCE_THRESHOLD, Model
from mr_elm.model.models import HiddenNodeModel, KernelModel
from mr_elm.rows.columns import MISSING, MISSING_TEXTS
from mr_elm.rows.encoding import CATEGORY, DATE, THURSDAY, Column
from mr_elm.solvers.multiclass import ONE_VS_ONE, class_pairs
from mr_elm.typing import Floats, Rows

MAX_FEATURES, MAX_NODES, MAX_TREES = 200, 2000, 100
SUM_TERMS = 16  # of a sum, before some stand in parentheses: databases limit the depth of an expression
STEEPEST = '700e0'  # of an exponent: e^x of more overflows, and some databases stop at an underflow too
INFINITE = ('inf', '-inf', 'infinity', '-infinity')  # how databases write it
# dialect -> an array of columns, one of numbers, the sum of a * b over two arrays, and that of |a - b|
ARRAYS = {
    'duckdb': (
        '[{}]',
        "CAST('[{}]' AS DOUBLE[])",
        'LIST_DOT_PRODUCT({}, {})',
        'LIST_SUM([ABS(p[1] - p[2]) FOR p IN LIST_ZIP({}, {})])',
    ),
    'postgres': (
        'ARRAY[{}]',
        "CAST('{{{}}}' AS DOUBLE PRECISION[])",
        '(SELECT SUM(a * b) FROM UNNEST({}, {}) AS t(a, b))',
        '(SELECT SUM(ABS(a - b)) FROM UNNEST({}, {}) AS t(a, b))',
    ),
    'spark': (
        'ARRAY({})',
        "CAST(SPLIT('{}', ',') AS ARRAY<DOUBLE>)",
        'AGGREGATE(ZIP_WITH({}, {}, (a, b) -> a * b), 0e0, (s, v) -> s + v)',
        'AGGREGATE(ZIP_WITH({}, {}, (a, b) -> ABS(a - b)), 0e0, (s, v) -> s + v)',
    ),
    'bigquery': (
        '[{}]',
        '[{}]',
        '(SELECT SUM(a * b) FROM UNNEST({}) AS a WITH OFFSET i JOIN UNNEST({}) AS b WITH OFFSET j ON i = j)',
        '(SELECT SUM(ABS(a - b)) FROM UNNEST({}) AS a WITH OFFSET i JOIN UNNEST({}) AS b WITH OFFSET j ON i = j)',
    ),
}
# dialect -> days since 1970-01-01 of a timestamp; Spark would take it for one of the time zone of the session
DAYS = {
    'duckdb': 'EPOCH({0}) / 86400e0',
    'postgres': 'CAST(EXTRACT(EPOCH FROM {0}) AS DOUBLE PRECISION) / 86400e0',
    'spark': "DATEDIFF({0}, DATE '1970-01-01') + HOUR({0}) / 24e0 + MINUTE({0}) / 1440e0"
    ' + EXTRACT(SECOND FROM {0}) / 86400e0',
    'bigquery': 'UNIX_MICROS({0}) / 86400e6',
}
ACTIVATIONS = {
    'tanh': 'TANH({0})',
    'sine': 'SIN({0})',
    'rff': 'COS({0})',
    'relu': 'CASE WHEN {0} < 0 THEN 0e0 ELSE {0} END',
    'hardlimit': 'CASE WHEN {0} >= 0 THEN 1e0 ELSE 0e0 END',
}

Columns = list[str]


class Query(Writer):
    """Collect columns, step by step: a step knows the columns of those before it. Values are lists of k names.

    dialect : a key of ARRAYS.
    """

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.steps: list[dict[str, str]] = []  # expression -> name
        self.step_of: dict[str, int] = {}
        self.real, self.string = (exp.DataType.build(kind).sql(dialect) for kind in ('double', 'text'))

    def put(self, inputs: Iterable[str], *expressions: str) -> Columns:
        """Add columns, each once, to the step behind those of its inputs; return their names."""
        step = 1 + max((self.step_of[name] for name in inputs), default=-1)
        self.steps += [{} for _ in range(step + 1 - len(self.steps))]
        columns = self.steps[step]
        names = [columns.setdefault(expression, f'c{step + 1}_{len(columns) + 1}') for expression in expressions]
        self.step_of.update(dict.fromkeys(names, step))
        return names

    def quote(self, name: str) -> str:
        """Write the name of a column of the table."""
        return exp.to_identifier(name, quoted=True).sql(self.dialect)

    def text(self, value: str) -> str:
        """Write a text."""
        return exp.Literal.string(value).sql(self.dialect)

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

    def scale(self, X: Columns, offset: Floats, scale: Floats) -> Columns:
        """Write (x - offset) * scale."""
        return self.put(X, *(f'({x} + {write(-o)}) * {write(s)}' for x, o, s in zip(X, offset, scale, strict=True)))

    def multiply(self, Z: Columns, W: Rows, b: Floats) -> Columns:
        """Write Z W' + b."""
        return self.combine(0, Z, sp.expand(W), b)

    def combine(self, how: int, Z: Columns, W: Floats, b: Floats) -> Columns:
        """Write sums over two arrays, those of columns and W (L, d), + b. how : 0 for products, 1 for differences.

        What is missing is 0 there: `make_sql` makes all answers of the row NULL.
        """
        several, numbers, *sums = ARRAYS[self.dialect]
        (array,) = self.put(Z, several.format(', '.join(f'COALESCE({z}, 0e0)' for z in Z)))
        return self.put(
            [array],
            *(
                f'{sums[how].format(array, numbers.format(",".join(map(write, row))))} + {write(r)}'
                for row, r in zip(W, b, strict=True)
            ),
        )

    def measure(self, Z: Columns, A: Rows, norm: int, takes_root: bool) -> Columns:
        """Write distances."""
        if norm == 1:
            return self.combine(1, Z, sp.expand(A), np.zeros(A.shape[0]))
        row_norms = row_squares(A)
        (size,) = self.square(Z)
        products = self.multiply(Z, -2 * A, row_norms)
        D = [f'({size} + {product})' for product in products]
        if not takes_root:
            return self.put([size, *products], *(f'CASE WHEN {d} < 0 THEN 0e0 ELSE {d} END' for d in D))
        return self.put(
            [size, *products],
            *(
                f'CASE WHEN {d} <= {write(ROUNDING)} * ({size} + {write(a)}) THEN 0e0 ELSE SQRT({d}) END'
                for d, a in zip(D, row_norms, strict=True)
            ),
        )

    def activate(self, kind: str, values: Columns) -> Columns:
        """Write a function of values."""
        if kind == 'sigmoid':
            return self.put(values, *(f'1e0 / (1e0 + {exponential(f"(-{z})")})' for z in values))
        return self.put(values, *map(ACTIVATIONS[kind].format, values))

    def exponentiate(self, D: Columns, gammas: Floats) -> Columns:
        """Write exp(-gamma d)."""
        return self.put(D, *(exponential(f'({d} * {write(-gamma)})') for d, gamma in zip(D, gammas, strict=True)))

    def root(self, D: Columns, squares: Floats) -> Columns:
        """Write sqrt(d + square)."""
        return self.put(D, *(f'SQRT({d} + {write(b)})' for d, b in zip(D, squares, strict=True)))

    def power(self, values: Columns, degree: float) -> Columns:
        """Write values^degree."""
        return self.put(values, *(f'POWER({value}, {int(degree)})' for value in values))

    def square(self, Z: Columns) -> Columns:
        """Write |z|^2, one column."""
        return self.put(Z, add_up([f'{z} * {z}' for z in Z]))

    def divide(self, values: Columns, squares: Columns) -> Columns:
        """Write values / sqrt(square), and 0 where the square is 0."""
        return self.put(
            [*values, *squares],
            *(f'CASE WHEN {squares[0]} > 0 THEN {value} / SQRT({squares[0]}) ELSE 0e0 END' for value in values),
        )

    def fall(self, forest: Forest, X: Columns, B: Floats) -> Columns:
        """Write the sums over the trees of the weights of leaves."""

        def choose(node: int, weights: Floats) -> str:
            child = forest.children[node]
            if forest.features[node] < 0:
                return write(weights[child])
            condition = f'{X[forest.features[node]]} <= {write(forest.thresholds[node])}'
            return f'CASE WHEN {condition} THEN {choose(child, weights)} ELSE {choose(child + 1, weights)} END'

        return self.put(X, *(add_up([choose(root, weights) for root in forest.roots]) for weights in B.T))

    def add(self, values: Columns, others: Columns) -> Columns:
        """Write the sums of two values."""
        return self.put([*values, *others], *(f'{a} + {b}' for a, b in zip(values, others, strict=True)))

    def shift(self, values: Columns, b: Floats) -> Columns:
        """Write values + b."""
        return self.put(values, *(f'{value} + {write(r)}' for value, r in zip(values, b, strict=True)))

    def average(self, parts: list[Columns]) -> Columns:
        """Write the means of several values."""
        if len(parts) == 1:
            return parts[0]
        return self.put(
            sum(parts, []), *(f'({add_up(list(some))}) / {write(len(parts))}' for some in zip(*parts, strict=True))
        )

    def largest(self, values: Columns, answers: Iterable[str]) -> str:
        """Return the answer of the largest value, the first of equal ones."""
        (best,) = self.put(values, f'GREATEST({", ".join(values)})')
        cases = ' '.join(f'WHEN {value} = {best} THEN {answer}' for value, answer in zip(values, answers, strict=True))
        return self.put([best, *values], f'CASE {cases} END')[0]


def write(number: float) -> str:
    """Write a number as one of float64: without an exponent it would be a decimal one in some databases."""
    text = repr(float(number))
    if 'e' in text:
        return text
    return f'{text}e0'


def add_up(terms: list[str]) -> str:
    """Write a sum whose parentheses are not deep."""
    while len(terms) > SUM_TERMS:
        terms = [f'({" + ".join(terms[start : start + SUM_TERMS])})' for start in range(0, len(terms), SUM_TERMS)]
    return ' + '.join(terms)


def exponential(value: str) -> str:
    """Write e^value."""
    low, high = f'WHEN {value} < -{STEEPEST} THEN -{STEEPEST}', f'WHEN {value} > {STEEPEST} THEN {STEEPEST}'
    return f'EXP(CASE {low} {high} ELSE {value} END)'


def make_sql(model: Model, table: str = 'rows', dialect: str = 'duckdb', keep: Sequence[str] = ()) -> str:
    """Return a model as one SELECT, whose columns are those of `mr-elm predict --scores` to a table.

    Probabilities follow the scores of a calibrated model. All are NULL for a row that the model cannot use: where a
    number is missing that no mean stands for, or is infinite.

    table : its name. It has the columns of the training; those of rows without names are x1, x2, ...
    keep : names of other columns of the table that are copied.
    Raises ValueError where the model is too large for a query, or cannot be written.
    """
    demand_known(model, 'dates')
    demand_small(model)
    query = Query(dialect)
    try:
        source = exp.to_table(table, dialect=dialect).sql(dialect, identify=True)
    except errors.ParseError:
        raise ValueError(f'--table: expected the name of a table, found {table!r}') from None
    columns = columns_of(model) or [Column(f'x{j + 1}', mean=np.nan) for j in range(model.n_features)]
    features = [part for column in columns for part in write_column(query, column)]
    (missing,) = query.put(features, f'0e0 * ({add_up(features)})')  # NULL where a feature is, else 0
    scores = query.write_scores(model, features)
    scores = query.put([*scores, missing], *(f'{score} + {missing}' for score in scores))
    names = AnswerColumns(True, 'calibration' in model.arrays).names(model)
    return query.write(source, dict(zip(names, write_answers(query, model, scores), strict=True)), keep)


def demand_small(model: Model) -> None:
    """Raise ValueError where a query would be too long for databases."""
    nodes = trees = 0
    for machine in model.members:
        if isinstance(machine, HiddenNodeModel):
            if machine.layer.kind != 'identity':
                nodes += len(machine.layer.biases)
            if machine.layer.forest is not None:
                trees += machine.layer.forest.n_trees
        elif isinstance(machine, KernelModel) and machine.kernel.name != 'linear':
            nodes += machine.support_vectors.shape[0]
    for count, most, what in (
        (model.n_features, MAX_FEATURES, 'features'),
        (trees, MAX_TREES, 'trees'),
        (nodes, MAX_NODES, 'nodes or support vectors'),
    ):
        if count > most:
            raise ValueError(
                f'export: expected at most {most:,} {what} for a query of SQL, found {count:,}: train a '
                'smaller model, or export a graph of ONNX'
            )


def write_column(query: Query, column: Column) -> Columns:
    """Write the features of a column. Dates are DATE, TIMESTAMP, or text of ISO 8601."""
    name = query.quote(column.name)
    if column.kind != DATE:
        return write_part(query, column, name, [])
    present = f"COALESCE(CAST({name} AS {query.string}), '') NOT IN {query.texts(MISSING_TEXTS)}"
    timestamp = exp.DataType.build('timestamp').sql(query.dialect)
    (moment,) = query.put([], f'CASE WHEN {present} THEN CAST({name} AS {timestamp}) END')
    days, month = query.put([moment], DAYS[query.dialect].format(moment), f'EXTRACT(MONTH FROM {moment})')
    since_monday = f'(FLOOR({days}) + {THURSDAY})'
    (weekday,) = query.put([days], f'{since_monday} - 7 * FLOOR({since_monday} / 7e0) + 1')
    values = zip(column.parts, (days, month, weekday), strict=True)
    return [feature for part, value in values for feature in write_part(query, part, value, [value])]


def write_part(query: Query, column: Column, name: str, inputs: Columns) -> Columns:
    """Write the features of numbers or categories, whose values an expression of some columns gives."""
    if column.kind == CATEGORY:
        text = f'COALESCE(CAST({name} AS {query.string}), {query.text(MISSING)})'
        value = f'CASE WHEN {text} IN {query.texts(MISSING_TEXTS)} THEN {query.text(MISSING)} ELSE {text} END'
        spellings = [spell(category, column.categories) for category in column.categories]
        conditions = [f'{value} IN {query.texts(each)}' for each in spellings]
        other = '1 = 1'
        if conditions:
            other = f'{value} NOT IN {query.texts(sum(spellings, []))}'
        return query.put(
            inputs, *(f'CASE WHEN {condition} THEN 1e0 ELSE 0e0 END' for condition in (*conditions, other))
        )
    number = f'CAST({name} AS {query.real})'
    text = f'LOWER(CAST({name} AS {query.string}))'
    unusable = f'{name} IS NULL OR {text} = {query.text("nan")}'
    if np.isnan(column.mean):
        mean = 'NULL'
    else:
        mean = write(column.mean)
    if column.missing:
        indicator = [f'CASE WHEN {unusable} THEN 1e0 ELSE 0e0 END']
    else:
        indicator = []
    return query.put(
        inputs,
        f'CASE WHEN {unusable} THEN {mean} WHEN {text} IN {query.texts(INFINITE)} THEN NULL ELSE {number} END',
        *indicator,
    )


def spell(category: str, categories: Sequence[str]) -> list[str]:
    """Return how a database may write a category: of whole numbers in a column of float64, 1 as 1.0."""
    with_point = f'{category}.0'
    whole = category.removeprefix('-').isdecimal() and with_point not in categories
    if whole:
        return [category, with_point]
    return [category]


def write_answers(query: Query, model: Model, scores: Columns) -> Columns:
    """Write label, scores, and of a calibrated model probabilities; of a regression its values alone."""
    if model.header.is_log:
        return [exponential(score) for score in scores]
    if model.numeric:
        return scores
    if model.multilabel:
        return [write_labels(query, model, scores), *scores]
    labelling, names = model.labelling, [query.text(name) for name in model.classes]
    if labelling.calibration is not None:
        P = write_probabilities(query, model, scores, labelling.calibration)
        if labelling.threshold is None:
            return [query.largest(P, names), *scores, *P]
        p, limit = P[labelling.positive], write(labelling.threshold)
        (label,) = query.put(
            P,
            f'CASE WHEN {p} > {limit} THEN {names[labelling.positive]} '
            f'WHEN {p} <= {limit} THEN {names[1 - labelling.positive]} END',
        )
        return [label, *scores, *P]
    if model.n_scores == 1:
        label = f'CASE WHEN {scores[0]} > 0 THEN {names[1]} WHEN {scores[0]} <= 0 THEN {names[0]} END'
        return [*query.put(scores, label), *scores]
    if labelling.scheme != ONE_VS_ONE:
        return [query.largest(scores, names), *scores]
    votes, sums = write_votes(query, scores, len(names))
    (most,) = query.put(votes, f'GREATEST({", ".join(votes)})')
    candidates = query.put(
        [most, *sums],
        *(f'CASE WHEN {vote} = {most} THEN {total} ELSE -1e308 END' for vote, total in zip(votes, sums, strict=True)),
    )
    missing = f'CASE WHEN {scores[0]} IS NOT NULL THEN {query.largest(candidates, names)} END'
    return [missing, *scores]


def write_labels(query: Query, model: Model, scores: Columns) -> str:
    """Write the names of the labels of a row, joined."""
    present = [f'{score} > {write(PRESENCE_THRESHOLD)}' for score in scores]
    parts = []
    for k, name in enumerate(model.classes):
        label = query.text(name)
        if k:
            joined = query.text(f'{model.header.separator}{name}')
            label = f'CASE WHEN {" OR ".join(present[:k])} THEN {joined} ELSE {label} END'
        parts.append(f"CASE WHEN {present[k]} THEN {label} ELSE '' END")
    return f'CASE WHEN {scores[0]} IS NOT NULL THEN {" || ".join(parts)} END'


def write_votes(query: Query, scores: Columns, n_classes: int) -> tuple[Columns, Columns]:
    """Write the votes of pairs for each class, and the sums of their decision values."""
    votes: list[list[str]] = [[] for _ in range(n_classes)]
    sums: list[list[str]] = [[] for _ in range(n_classes)]
    for score, (i, j) in zip(scores, class_pairs(n_classes), strict=True):
        votes[i].append(f'CASE WHEN {score} > 0 THEN 0 ELSE 1 END')
        votes[j].append(f'CASE WHEN {score} > 0 THEN 1 ELSE 0 END')
        sums[i].append(f'(-{score})')
        sums[j].append(score)
    return query.put(scores, *map(add_up, votes)), query.put(scores, *map(add_up, sums))


def write_probabilities(query: Query, model: Model, scores: Columns, calibration: Floats) -> Columns:
    """Write the probability of each class: softmax of e^t f + b; see `scores.calibration`."""
    n, size = len(model.classes), write(np.exp(calibration[0]))
    if n == 2:
        scores = query.put(scores, f'0e0 * {scores[0]}', scores[0])
    elif model.labelling.scheme == ONE_VS_ONE:
        votes, sums = write_votes(query, scores, n)
        scores = query.put(
            [*votes, *sums],
            *(f'{vote} + {total} / (3e0 * (ABS({total}) + 1e0))' for vote, total in zip(votes, sums, strict=True)),
        )
    logits = query.put(
        scores, *(f'{size} * {score} + {write(b)}' for score, b in zip(scores, [0.0, *calibration[1:]], strict=True))
    )
    (most,) = query.put(logits, f'GREATEST({", ".join(logits)})')
    powers = query.put([most, *logits], *(exponential(f'({logit} - {most})') for logit in logits))
    (total,) = query.put(powers, add_up(powers))
    return query.put([total, *powers], *(f'{power} / {total}' for power in powers))
