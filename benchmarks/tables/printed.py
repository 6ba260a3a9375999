"""Lay results out as the tables of a paper: accuracies and times by kernel or nodes, parameters, support vectors."""
from collections.abc import Sequence


def write_sections(rows: list[dict], sections: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Return a Markdown table for each section, and one of the parameters and one of the support vectors.

    rows : of `summarise_all`. sections : (title, names of methods).
    """
    tables = [write_section(title, [row for row in rows if row['method'] in methods]) for title, methods in sections]
    if not sections or not rows:
        return []
    supports = [{**row, 'n_support': f'{row["n_support"]:,.1f}'} for row in rows if row['n_support'] is not None]
    return [*tables, write_column('Parameters', rows, 'parameters'),
            write_column('Number of support vectors', supports, 'n_support')]


def write_section(title: str, rows: list[dict]) -> str:
    """Lay out the accuracies and times of some methods, the best of a set in bold."""
    lines = [f'### {title}', '', '| set | method | training accuracy % | testing accuracy % | training s | testing s |',
             '|---|---|---:|---:|---:|---:|']
    for row in rows:
        rivals = [rival for rival in rows if rival['set'] == row['set']]
        best = max(rival['accuracy'] for rival in rivals)
        fastest = min(rival['train_seconds'] for rival in rivals)
        values = (f'{100 * row["train_accuracy"]:.2f}{write_deviation(row, "train_deviation")}',
                  emphasise(f'{100 * row["accuracy"]:.2f}', row['accuracy'] == best) + write_deviation(row),
                  emphasise(f'{row["train_seconds"]:.3g}', row['train_seconds'] == fastest),
                  f'{row["test_seconds"]:.3g}')
        lines.append(f'| {row["set"]} | {row["method"]} | {" | ".join(values)} |')
    return '\n'.join(lines)


def write_deviation(row: dict, column: str = 'deviation') -> str:
    """Write the deviation of an accuracy over its trials; '' where there was one."""
    return f' ± {100 * row[column]:.2f}' if row['trials'] > 1 else ''


def emphasise(text: str, is_best: bool) -> str:
    """Return a text, in bold where it is the best."""
    return f'**{text}**' if is_best else text


def write_column(title: str, rows: list[dict], column: str) -> str:
    """Lay out one value, a row a set and a column a method."""
    names, methods = (list(dict.fromkeys(row[key] for row in rows)) for key in ('set', 'method'))
    cells = {(row['set'], row['method']): row[column] for row in rows}
    lines = [f'### {title}', '', f'| set | {" | ".join(methods)} |', '|---|' + '---:|' * len(methods)]
    return '\n'.join([*lines, *(f'| {name} | ' + ' | '.join(cells.get((name, method), '') for method in methods) + ' |'
                                for name in names)])
