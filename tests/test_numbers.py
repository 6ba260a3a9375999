"""The numbers in the prose of README, papers.md and methods.md: each is one that the code has, or computed here.

Commands that are shown, with what they print, run in test_manual.py; what was measured stands in docs/results.
"""

import re
from functools import cache
from inspect import signature
from math import sqrt
from pathlib import Path
from pkgutil import resolve_name

import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from benchmarks import papers
from mr_elm.estimators import ESVMRegressor
from mr_elm.features.kernels import make_kernel
from mr_elm.features.synthetic import MAX_NUMBERS
from mr_elm.machines import auto, calibrating, joint
from mr_elm.machines.options import MOST_GRAM_NODES, KELMOptions, PESVMOptions
from mr_elm.machines.passes import SINGLE_NODES, TOLERANCES
from mr_elm.machines.sample import SAMPLE_ROWS
from mr_elm.machines.shared_options import N_HIDDEN
from mr_elm.methods import METHODS
from mr_elm.option import option_fields
from mr_elm.scores import probability_scores
from mr_elm.scores.selection import PAPER
from mr_elm.solvers import box
from mr_elm.solvers.trees import BINS, TreeOptions

ROOT = Path(__file__).parents[1]
UNITS = 'MB|GB|kB|bytes|rows|trees|leaves|landmarks|seconds|minutes|columns|nodes|folds|bins|values|trials|digits'
# numbers that claim something: those with a comma or a unit
CLAIM = re.compile(rf'\d{{1,3}}(?:,\d{{3}})+|\d+ ?%|\d[\d.]* (?:{UNITS})\b')
DEFAULT = re.compile(r'^\| `(--[a-zA-Z-]+)[^|]*\|[^|\n]*[,;] default ([\w.-]+)', re.MULTILINE)
KELM_ROWS = 20_000  # advice: what the default memory of the kernel ELM holds, rounded down
ADVICE = '300 to 2000 landmarks'
FORMULAS = ('24 (L+1)^2 bytes', '8 L d bytes', '8 N^2 bytes', 'of 4 bytes each', 'else of 8 bytes', '8 L^2')


@cache
def read_prose(page):
    """Return the text of a page on one line, without blocks of code."""
    text = re.sub(r'```.*?```', '', (ROOT / page).read_text(encoding='utf-8'), flags=re.DOTALL)
    return ' '.join(text.split())


def count_rows(n_matrices):
    """Return how many rows the kernel ELM takes in the default memory, for so many matrices."""
    return sqrt(KELMOptions.memory * 1e6 / 8 / n_matrices)


def describe_auto():
    """Yield what methods.md says of the steps of `auto`."""
    *larger, (_, trees, landmarks) = auto.SIZES
    yield f'chooses up to {SAMPLE_ROWS:,} rows. A quarter of them, at most {joint.MAX_HELD_ROWS:,}, is held out'
    yield f'{joint.TREES} boosted trees of {TreeOptions.n_leaves} leaves with a squared loss'
    yield f'on histograms of {BINS} bins'
    yield f'begins with {trees} trees and {landmarks} landmarks'
    sizes = [f'by {100 * (1 - ratio):.0f} %, {trees} and {landmarks:,}' for ratio, trees, landmarks in larger[::-1]]
    yield 'smaller ' + '; '.join(sizes).replace(',', ', the machine gets', 1)
    yield f'has fewer than {joint.TREES} trees'
    yield f'reduces the error by less than {round(100 * (1 - joint.SECOND_MACHINE_RATIO))} %'
    yield f'Up to {auto.EXACT_ROWS:,} rows, an exact kernel machine'
    yield f'Up to {auto.COMPARED_ROWS:,} rows, other machines'
    yield (
        f'a joint machine of {joint.FOLD_TREES} trees of {joint.FOLD_LEAVES} leaves and {joint.FOLD_LANDMARKS} '
        'landmarks'
    )
    n_nodes = joint.TREES * TreeOptions.n_leaves + joint.LANDMARKS
    yield (
        f'24 (leaves + landmarks)^2 bytes for each machine: {round(24 * n_nodes**2, -7) // 10**6} MB with '
        f'{joint.TREES} trees and {joint.LANDMARKS} landmarks'
    )


def describe_methods():
    """Yield what methods.md says of sizes and limits."""
    yield from describe_auto()
    yield from (*FORMULAS, ADVICE)
    assert joint.ROWS_PER_HELD == 4  # "a quarter"
    yield f'{len(load_digits().data):,} images of digits'
    yield f'24 (L+1)^2 bytes, {24 * N_HIDDEN**2 // 10**6} MB at L = {N_HIDDEN}'
    yield f'More than {MAX_NUMBERS:,} columns of numbers are refused'
    yield f'as in `auto`, on {SAMPLE_ROWS:,} rows'
    yield f'default {PESVMOptions.leaves}; each tree has {TreeOptions.n_leaves} |'
    yield f'of 4 bytes each from {SINGLE_NODES:,} nodes on'
    yield f'more than about {MOST_GRAM_NODES:,} nodes'
    yield f'if L is more than {MOST_GRAM_NODES:,}, or'
    assert TOLERANCES == {'classification': 1e-4, 'regression': 1e-6}
    yield 'default 1e-4, and 1e-6 for a regression'
    assert box.EXACT_EPS == 1e-11
    yield f'machines of up to {box.EXACT_ROWS} rows'
    yield f'{count_rows(1) // 10 * 10:,.0f} rows in the default {KELMOptions.memory:g} MB'
    yield f'{count_rows(3) // 100 * 100:,.0f} rows in {KELMOptions.memory:g} MB'
    sampled = calibrating.SAMPLED_ROWS
    yield f'over a sample of about {sampled:,} rows'
    yield f'on about {sampled:,} rows at most'
    yield f'put into {probability_scores.BINS} bins'
    coverage = signature(ESVMRegressor.predict_interval).parameters['coverage'].default
    yield f'About {round(100 * coverage)} % of the labels'
    yield from limit_of_kernel_elm(2)


def limit_of_kernel_elm(times):
    """Yield the advice on rows of the kernel ELM, as often as a page gives it."""
    assert 0.8 * count_rows(1) < KELM_ROWS < count_rows(1)
    yield from [f'about {KELM_ROWS:,} rows'] * times


def describe_papers():
    """Yield what papers.md says of grids and trials."""
    yield f'{len(PAPER)} values of C and {len(PAPER)} of sigma, with 5 folds'
    yield f'Our {papers.TRIALS} trials'
    yield 'In the paper, 20 trials'


def describe_readme():
    """Yield what README says of rows."""
    yield f'the {len(load_breast_cancer().data)} tumours'
    yield from limit_of_kernel_elm(2)


STATEMENTS = {'README.md': describe_readme, 'docs/papers.md': describe_papers, 'docs/methods.md': describe_methods}
PAGES = tuple(STATEMENTS)
METHOD_OF_SECTION = dict.fromkeys(('nystrom', 'leaves', 'passes'), 'pesvm')


def read_defaults():
    """Yield (method, flag, default) of each row of an option in methods.md that says a default."""
    text = (ROOT / 'docs/methods.md').read_text(encoding='utf-8')
    for section in text.split('\n## ')[1:]:
        name = section.split('\n', 1)[0]
        for flag, default in re.findall(
            r'^\| `(--[a-zA-Z-]+)[^|]*\|[^|\n]*[,;] default ([\w.-]+)', section, flags=re.M
        ):
            yield METHOD_OF_SECTION.get(name, name), flag, default


def test_the_defaults_of_options_are_those_of_the_code():
    said = list(read_defaults())
    assert len(said) >= 13
    for method, flag, default in said:
        options = option_fields(resolve_name(METHODS[method].options)).values()
        (value,) = [str(each.default) for each in options if each.flag == flag]
        if flag == '--degree':  # the kernel decides
            value = make_kernel('polynomial').parameters['degree']
        try:
            assert float(default) == float(value), (method, flag)
        except ValueError:
            assert default == value, (method, flag)


@pytest.mark.parametrize('page', PAGES)
def test_a_page_has_the_numbers_of_the_code(page):
    text = read_prose(page)
    missing = [statement for statement in STATEMENTS[page]() if statement not in text]
    assert missing == [], f'{page} does not say what the code does'


@pytest.mark.parametrize('page', PAGES)
def test_no_number_of_a_page_is_typed_by_hand(page):
    """Each number with a comma or a unit lies within a statement that was made from the code."""
    text = read_prose(page)
    for statement in sorted(STATEMENTS[page](), key=len, reverse=True):
        text = text.replace(statement, '...', 1)
    assert [text[max(0, found.start() - 40) : found.end() + 20] for found in CLAIM.finditer(text)] == []


@pytest.mark.parametrize('page', PAGES)
def test_no_page_says_how_fast_or_how_accurate_something_is(page):
    found = re.findall(r'.{20}\d (?:processor )?seconds|.{20}\d times (?:as long|as fast|faster)', read_prose(page))
    assert found == [], 'what was measured stands in docs/results'
