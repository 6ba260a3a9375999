"""Figures of evaluations can be read, whatever the number of classes, the size of the targets, and the names."""

from contextlib import contextmanager
from functools import partial
from string import ascii_uppercase

import numpy as np
import pytest
from matplotlib.text import Text
from sklearn.metrics import average_precision_score

from mr_elm.figures import drift, importance, reliability, residuals
from mr_elm.figures.figure import GREY, open_figure
from mr_elm.machines.evaluation import Evaluation
from mr_elm.scores.probability_scores import ProbabilityScores
from mr_elm.scores.ranking import Ranking, key_of, key_of_number


@pytest.fixture
def panels(monkeypatch):
    """Collect the panels of the figures that are drawn, and written to no file."""
    panels = []

    @contextmanager
    def keep(*paths, **look):
        with open_figure(**look) as (figure, axes):
            yield figure, axes
            figure.canvas.draw()
            panels.extend(np.ravel(axes))

    for module in (drift, importance, reliability, residuals):
        monkeypatch.setattr(module, 'open_figure', keep)
    return panels


def read_names(axes):
    """Return the names of classes in the legend of a panel."""
    return [text.get_text().partition(':')[0] for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize('n_classes', [10, 26])
def test_of_many_classes_the_worst_are_named_and_the_others_grey(panels, rng, tmp_path, n_classes):
    y, evaluation, scores = rng.integers(n_classes - 1, size=900), Evaluation(), []
    for k in range(n_classes):  # no row is of the last one
        values = rng.normal(size=900) + (y == k) * rng.uniform(1, 5)
        evaluation.add(('ranking', k), Ranking.of(key_of_number(values), y == k, np.ones(900)))
        if k < n_classes - 1:
            scores.append(average_precision_score(y == k, values))
    reliability.draw(evaluation, ascii_uppercase, None, tmp_path / 'f.png')
    worst = np.arange(9) if n_classes == 10 else np.sort(np.argsort(scores)[:5])
    _, roc, precision = panels
    assert read_names(precision) == [ascii_uppercase[k] for k in worst]
    for lines in (roc.lines[:-1], precision.lines):  # the last line is the diagonal
        colours = [line.get_color() for line in lines]
        assert [k for k, colour in enumerate(colours) if colour != GREY] == worst.tolist()
        assert len({*colours} - {GREY}) == len(worst)


@pytest.mark.parametrize('size', [1e-3, 1, 100, 1e4, 1e5, 1e6, 1e9])
def test_numbers_below_a_panel_do_not_overlap(panels, rng, tmp_path, size):
    actual = size * rng.uniform(1, 8, 200)
    residuals.draw(actual, actual * rng.uniform(0.99, 1.01, 200), [''], None, tmp_path / 'f.png')
    for axes in panels:
        boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
        assert all(left.x1 < right.x0 for left, right in zip(boxes, boxes[1:], strict=False))


NAMES = 'a$b^_$', '$_$'
SHARES = dict.fromkeys(NAMES, 0.5)


def draw_targets(rng, path):
    residuals.draw(rng.normal(size=(20, 2)), rng.normal(size=(20, 2)), NAMES, None, path)


def draw_classes(rng, path, positive=None):
    y, P, weights = np.arange(40) % 2, rng.dirichlet([1, 1], size=40), np.ones(40)
    evaluation = Evaluation({('probabilities',): ProbabilityScores.of(P, y, weights)})
    for k in range(2):
        evaluation.add(('ranking', k), Ranking.of(key_of(P[:, k]), y == k, weights, len(y)))
    reliability.draw(evaluation, NAMES, positive, path)


@pytest.mark.parametrize(
    'draw',
    [
        draw_targets,
        draw_classes,
        partial(draw_classes, positive=NAMES[0]),
        lambda rng, path: importance.draw(SHARES, path),
        lambda rng, path: drift.draw(SHARES, [SHARES, SHARES], path),
    ],
    ids=['targets', 'classes', 'positive', 'importance', 'drift'],
)
def test_dollars_in_names_are_no_mathematics(panels, rng, tmp_path, draw):
    draw(rng, tmp_path / 'f.png')
    assert any(r'a\$b^_\$' in text.get_text() for text in panels[0].figure.findobj(Text))
