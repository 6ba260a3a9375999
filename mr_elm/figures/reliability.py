"""Draw how reliable probabilities are, and the ROC and precision-recall curves of each class."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mr_elm.figures.figure import GREY, as_text, open_figure
from mr_elm.machines.evaluation import Evaluation
from mr_elm.scores.probability_scores import BINS, sum_bins
from mr_elm.typing import Floats

SHOWN_CLASSES, WORST_CLASSES = 10, 5  # classes that the legend names: all up to the first number, or the worst


def draw(evaluation: Evaluation, classes: Sequence[str], positive: str | None, path: str | Path) -> None:
    """Draw three panels.

    Of many classes, those of the lowest average precision have colours and names, and the others are grey.

    evaluation : of a model with probabilities. classes : their names. positive : of two classes, the one whose
    probability and curves are drawn. path : of the png.
    """
    subject = 'the predicted class'
    rankings = {k: ranking for k, ranking in evaluation.rankings.items() if positive in (None, classes[k])}
    shown, title = list(rankings), 'class: area, average precision'
    if len(rankings) > SHOWN_CLASSES:
        shown = sorted(rankings, key=lambda k: rankings[k].average_precision or 1)[:WORST_CLASSES]
        title = f'the worst of {len(rankings)} classes:\narea, average precision'
    with open_figure(path, columns=3, figsize=(12, 4)) as (_, (reliability, roc, precision)):
        if evaluation.probabilities is not None:
            bins = evaluation.probabilities.bins
            if positive is not None:
                [ranking] = rankings.values()
                bins = sum_bins(ranking.probabilities, ranking.positive + ranking.negative, ranking.positive)
                subject = f'class {as_text(positive)}'
            draw_reliability(reliability, bins, f'share that is {subject}')
        for k, ranking in rankings.items():
            true, false = ranking.curve()
            if not (true[-1] and false[-1]):  # there are no curves of such a class
                continue
            look = {'color': GREY, 'alpha': 0.3, 'zorder': 1}
            if k in shown:
                look = {'label': f'{as_text(classes[k])}: {ranking.area:.3f}, {ranking.average_precision:.3f}'}
            roc.plot(false / false[-1], true / true[-1], **look)
            precision.plot(true[1:] / true[-1], true[1:] / (true + false)[1:], **look)
        label(reliability, f'probability of {subject}', f'share that is {subject}')
        label(roc, 'false positive rate', 'true positive rate (recall)')
        label(precision, 'recall', 'precision')
        roc.plot([0, 1], [0, 1], ':', color='grey')
        precision.legend(fontsize='small', title=title, title_fontsize='small', loc='lower left')


def draw_reliability(axes: Any, bins: Floats, name: str) -> None:
    """Draw the share of right rows, called by a name, over the probability, and how many rows have each probability."""
    weight, confidence, right = bins[:, bins[0] > 0]
    axes.bar(
        (np.arange(BINS) + 0.5) / BINS, bins[0] / bins[0].sum(), 1 / BINS, color='lightgrey', label='share of rows'
    )
    axes.plot([0, 1], [0, 1], ':', color='grey')
    axes.plot(confidence / weight, right / weight, 'o-', label=name)
    axes.legend(fontsize='small')


def label(axes: Any, across: str, up: str) -> None:
    """Name the axes of a panel of shares."""
    axes.set(xlabel=across, ylabel=up, xlim=(0, 1), ylim=(0, 1.02))
