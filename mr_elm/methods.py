"""Hold the table of methods: what each is called, what trains, tunes and offers it, and how it is used.

A method that is a row of METHODS has a command, with its help, its page in the manual and its tests of defaults. What
a row names as 'module:name' is imported when it is used, by `pkgutil.resolve_name`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Describe how the parameters of a method are chosen.

    what : a line for the list of methods. description : a paragraph for the help.
    search : names the dataclass of its options. driver : names the function that searches.
    examples : what a user types behind `mr-elm tune METHOD` -> what it does.
    """

    what: str
    description: str
    search: str
    driver: str
    examples: dict[str, str]


@dataclass(frozen=True)
class Method:
    """Describe a method.

    what : a line for the list of methods. description : a paragraph for the help.
    options : names the dataclass of its options. driver : names its training, a function (plan, options, engine) ->
    (Model, accounts). estimators : name those of scikit-learn. examples : as in Tuning, of training.
    living : whether rows can be added to its models and taken away, so that models of the same nodes merge.
    """

    what: str
    description: str
    options: str
    driver: str
    estimators: tuple[str, ...]
    examples: dict[str, str]
    tuning: Tuning | None = None
    living: bool = False


GRAM, DUAL, KELM = (f'mr_elm.drivers.{name}:train' for name in ('pesvm', 'dual', 'kelm'))
OPTIONS, SEARCHES, ESTIMATORS = 'mr_elm.machines.options', 'mr_elm.machines.search_options', 'mr_elm.estimators'


def tuning_of_dual(what: str, examples: dict[str, str], search: str = 'BoxSearch') -> Tuning:
    """Describe how a method of the dual is tuned."""
    return Tuning(
        what,
        'Score a grid of kernel parameters and C by cross-validation. Choose by accuracy, or by balanced '
        'accuracy if --class-weight is balanced.',
        f'{SEARCHES}:{search}',
        'mr_elm.drivers.tune_kernels:cross_validate',
        examples,
    )


METHODS = {
    'auto': Method(
        'the one to begin with: chooses and averages machines',
        'Choose machines by a sample of the rows, train them on all rows, and average them: leaves of boosted trees '
        'and landmarks in one ridge regression; for few rows, kernel machines and random nodes.',
        f'{OPTIONS}:AutoOptions',
        'mr_elm.drivers.auto:train',
        (f'{ESTIMATORS}:AutoClassifier', f'{ESTIMATORS}:AutoRegressor'),
        {
            'rows.csv --model m.npz': 'a model that it chooses itself, without options',
            'rows.csv --task regression --intervals --model m.npz': 'numbers, with intervals',
            'rows.csv --budget 60s --keep-sums --model m.npz': 'a larger model, to which rows can be added',
        },
    ),
    'pesvm': Method(
        'extreme SVM: ridge regression on random nodes, any number of rows',
        'Train the parallel extreme SVM: ridge regression on random hidden nodes, with a bias. It needs only sums over '
        'the rows, the Gram matrix.',
        f'{OPTIONS}:PESVMOptions',
        GRAM,
        (f'{ESTIMATORS}:ESVMClassifier', f'{ESTIMATORS}:ESVMRegressor'),
        {
            'rows.csv --model m.npz': '1,000 sigmoid nodes, in this process',
            'hdfs:///rows --model hdfs:///m.npz -r hadoop': 'on a cluster',
        },
        Tuning(
            'nodes, nu and L, from one pass over the rows',
            'Score combinations of maps, kernels, weight scales, nu and L. Of ten with small errors, choose by '
            'accuracy (balanced if --class-weight is balanced).',
            f'{SEARCHES}:NodeSearch',
            'mr_elm.drivers.tune_pesvm:tune',
            {
                'rows.csv --map sigmoid,rbf --hidden 100,300 --model best.npz': 'from one pass',
                'rows.csv --table cells.csv --figure cells.png -r local': 'all scores, and a figure',
            },
        ),
        living=True,
    ),
    'elm': Method(
        'unified ELM: as pesvm, but without a bias',
        'Train the unified ELM: ridge regression on random hidden nodes, without a bias. It needs only sums over the '
        'rows, the Gram matrix.',
        f'{OPTIONS}:ELMOptions',
        GRAM,
        (f'{ESTIMATORS}:ELMClassifier', f'{ESTIMATORS}:ELMRegressor'),
        {
            'rows.csv --C 10 --model m.npz': '1,000 sigmoid nodes, without a bias',
            'rows.csv --task regression --map rbf --model m.npz': 'labels are numbers to predict',
        },
        living=True,
    ),
    'sparse-elm': Method(
        'sparse ELM: hinge loss on a kernel, by blocks of variables',
        'Train the sparse ELM: the box-constrained dual, solved by blocks of variables.',
        f'{OPTIONS}:DualOptions',
        DUAL,
        (f'{ESTIMATORS}:SparseELMClassifier',),
        {
            'rows.csv --sigma 2 --C 10 --model m.npz': 'a Gaussian kernel',
            'rows.csv --partitions 8 --model m.npz -r local': 'more rows than a task holds',
        },
        tuning_of_dual(
            'kernel and C, by cross-validation with warm starts',
            {
                'rows.csv --model best.npz': 'a coarse grid; keep the best model',
                'rows.csv --sigma 0.5,1,2 --C 1,10 --table grid.csv': 'a grid of your own',
            },
        ),
    ),
    'oelm': Method(
        'optimisation ELM: as sparse-elm, by active sets',
        'Train the optimisation ELM: the box-constrained dual, solved by active sets.',
        f'{OPTIONS}:OELMOptions',
        DUAL,
        (f'{ESTIMATORS}:OELMClassifier',),
        {
            'rows.csv --kernel polynomial --degree 2 --model m.npz': 'another kernel',
            'rows.csv --kernel sigmoid --hidden 200 --model m.npz': 'random nodes',
        },
        tuning_of_dual(
            'kernel and C, by cross-validation',
            {'rows.csv --grid paper --sample 2000 --figure grid.png': '14 x 14 on about 2,000 rows'},
        ),
    ),
    'sphere-svm': Method(
        'SphereSVM: squared hinge loss on a kernel, with a bias',
        'Train SphereSVM: squared hinge loss on a normalised kernel. The dual problem: find the point of a convex hull '
        'that is nearest to the origin.',
        f'{OPTIONS}:SphereSVMOptions',
        DUAL,
        (f'{ESTIMATORS}:SphereSVMClassifier',),
        {
            'rows.csv --sigma 1 --C 10 --model m.npz': 'a Gaussian kernel',
            'rows.csv --kernel linear --normalise --model m.npz': 'a kernel that must be normalised',
        },
        tuning_of_dual(
            'kernel and C, by cross-validation with warm starts',
            {'rows.csv --sigma 0.7,2,7 --C 1,10,100': 'a grid of your own'},
            'DualSearch',
        ),
    ),
    'mr-kelm': Method(
        'kernel ELM: ridge regression on a kernel',
        'Train the kernel ELM: solve (I/C + Omega) A = T, with the kernel matrix Omega.',
        f'{OPTIONS}:KELMOptions',
        KELM,
        (f'{ESTIMATORS}:KernelELMClassifier', f'{ESTIMATORS}:KernelELMRegressor'),
        {
            'rows.csv --sigma 3 --C 100 --model m.npz': 'a Gaussian kernel',
            'rows.csv --solver cg --model m.npz -r local': 'never store the kernel matrix',
            'rows.csv --task regression --leave-one-out --model m.npz': 'also print the leave-one-out error',
        },
        Tuning(
            'kernel and C, by leave-one-out in closed form',
            'Score a grid of kernel parameters and C by leave-one-out, computed with a formula. Choose by accuracy, '
            'or by balanced accuracy if --class-weight is balanced. Each kernel has one reduce task, and one '
            'eigendecomposition for all C.',
            f'{SEARCHES}:KELMSearch',
            'mr_elm.drivers.tune_kernels:leave_one_out',
            {'rows.csv --table grid.csv --model best.npz': 'all scores, and the best model'},
        ),
    ),
}
