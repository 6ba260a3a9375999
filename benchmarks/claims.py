"""The table of claims: what README, the manual and papers.md say of speed and accuracy, and the race that judges it."""

from functools import partial

from benchmarks.cases import commands, machines
from benchmarks.cases.machines import COSTS, FEW, SETTINGS
from benchmarks.harness import COUNTED, FASTER, POINTS, SHARE, WALL, Aim, Race

SCRIPT = 'a short script of numpy and scipy that only computes a Gram matrix of the same size'
ON_SETS = 'on at most 2,000 rows of each public set, standardised, with the same gamma and C'
AS_GOOD = -0.5  # points: a method that is no further behind is as good
SMALL_C = SETTINGS[:2]  # with a larger C, Algorithm 1 of sparse ELM can take millions of steps

RACES = [
    Race(
        'map',
        'the map task of the Gram job',
        'script',
        f'The map task of `mr_gram` and {SCRIPT} read the same csv file.',
        commands.list_map,
        (Aim(SHARE, 1.25, 'a map task is as fast as a script'),),
        1.25,
    ),
    Race(
        'train',
        'mr-elm train pesvm',
        'script',
        f'`mr-elm train pesvm`, in one process, beside {SCRIPT}: from a csv '
        'file, or, as packed rows and arrays in memory, without it.',
        commands.list_trainings,
        (
            Aim(SHARE, 1.2, 'a training from csv is as fast as a script', 'csv'),
            Aim(SHARE, 1.15, 'a training from packed rows is as fast as its arithmetic', 'packed'),
        ),
        2.5,
    ),
    Race(
        'cores',
        'two processes',
        'one process',
        '`mr-elm train pesvm -r local --num-cores 2` on packed rows, beside the same training in one process.',
        commands.list_cores,
        (Aim(FASTER, 1.5, 'the second core helps'),),
        2.5,
        WALL,
        warm=False,
    ),
    Race(
        'memory',
        'ten times the rows',
        'a tenth of them',
        'The peak memory of `mr-elm train pesvm` in megabytes, in one process, on packed rows.',
        commands.list_memory,
        (Aim(SHARE, 1.05, 'memory does not grow with the rows'),),
        2,
        COUNTED,
        warm=False,
    ),
    Race(
        'update',
        'mr-elm update',
        'mr-elm train',
        '`mr-elm update` adds one new row for a hundred rows that `mr-elm train pesvm` has read, both in one process.',
        commands.list_updates,
        (Aim(SHARE, 0.2, 'an update does not read the other rows of the model'),),
        1.5,
    ),
    Race(
        'csv',
        'csv into blocks',
        'pandas.read_csv',
        'Both read a csv file of 51 columns.',
        partial(commands.list_tables, make_pair=commands.pair_reading),
        (Aim(FASTER, 0.8, 'csv is read about as fast as by pandas'),),
        1.25,
    ),
    Race(
        'packing',
        'mr-elm pack',
        'pandas.read_csv and to_parquet',
        'Both write the rows of a csv file as Parquet, each in a process of its own. Text is read twice, to encode it.',
        partial(commands.list_tables, make_pair=commands.pair_packing),
        (Aim(SHARE, 1.5, 'packing takes little longer than a conversion by pandas'),),
        1.25,
    ),
    Race(
        'pack',
        'a pack into blocks',
        'pandas.read_parquet',
        'Both read the same 50 columns of numbers.',
        commands.list_packs,
        (Aim(FASTER, 0.8, 'a pack is read about as fast as Parquet by pandas'),),
        0.5,
    ),
    Race(
        'pesvm',
        'PESVM',
        'hpelm; RBFSampler + RidgeClassifier',
        'Fits with 1,000 nodes, on at most 2,000 rows of each public set.',
        machines.list_peers_of_pesvm,
        (
            Aim(FASTER, 1, 'PESVM is as fast as hpelm', 'hpelm'),
            Aim(FASTER, 1, 'PESVM is as fast as random features of scikit-learn', 'RBFSampler + RidgeClassifier'),
        ),
        1.75,
    ),
    Race(
        'sparse-elm',
        'sparse ELM by `block`, which is not Algorithm 1',
        'SVC',
        f'Fits {ON_SETS}.',
        partial(machines.list_kernel_cases, make=machines.make_sparse_elm, settings=SETTINGS),
        (Aim(FASTER, 2, 'sparse ELM trains faster than SVC'),),
        4,
    ),
    Race(
        'sparse-elm-paper',
        'sparse ELM by Algorithm 1 of the paper',
        'SVC',
        f'Fits {ON_SETS}, C at most 10: with larger C, Algorithm 1 may take many steps.',
        partial(machines.list_kernel_cases, make=partial(machines.make_sparse_elm, rule='paper'), settings=SMALL_C),
        (Aim(FASTER, 1, "the paper's own algorithm trains faster than SVC"),),
        1.5,
    ),
    Race(
        'small',
        'sparse ELM by `block`, on small sets',
        'SVC',
        f'Fits on the sets of fewer than {FEW} rows.',
        partial(machines.list_kernel_cases, make=machines.make_sparse_elm, settings=SETTINGS, fewer_than=FEW),
        (Aim(FASTER, 1, 'small machines cost no more than with SVC'),),
        0.5,
    ),
    Race(
        'predict',
        'predictions of sparse ELM by `block`',
        'SVC',
        f'Predictions of the rows that were fitted, {ON_SETS}.',
        partial(
            machines.list_kernel_cases, make=machines.make_sparse_elm, settings=SETTINGS, pair=machines.pair_predictions
        ),
        (Aim(FASTER, 5, 'sparse ELM predicts faster than SVC'),),
        1.5,
    ),
    Race(
        'sphere-svm',
        "SphereSVM by `exact`, which is not the paper's own",
        'SVC',
        f'Fits {ON_SETS}.',
        partial(machines.list_kernel_cases, make=machines.make_sphere_svm, settings=tuple((1, C) for C in COSTS)),
        (Aim(FASTER, 1.5, 'SphereSVM trains faster than SVC'),),
        2.5,
    ),
    Race(
        'sphere-svm-paper',
        'SphereSVM by Algorithm 1 of the paper',
        'SVC',
        f'Fits {ON_SETS}, C 1 and 10. Algorithm 1 stops at a ball that holds all rows, not at the smallest.',
        partial(
            machines.list_kernel_cases, make=partial(machines.make_sphere_svm, rule='paper'), settings=((1, 1), (1, 10))
        ),
        (Aim(FASTER, 1, "the paper's own algorithm trains faster than SVC"),),
        1.5,
    ),
    Race(
        'mr-kelm',
        'the kernel ELM, by a Cholesky factor',
        'KernelRidge',
        'Fits on at most 2,000 rows of each public set.',
        machines.list_kernel_elm,
        (Aim(FASTER, 1, 'the kernel ELM is as fast as KernelRidge'),),
        1,
    ),
    Race(
        'decomposition',
        'a Cholesky factor',
        'numpy.linalg.svd',
        "The system of the kernel ELM, and the paper's decomposition of its matrix alone.",
        machines.list_decompositions,
        (Aim(FASTER, 20, 'the default takes less time than a singular value decomposition'),),
        0.75,
    ),
    Race(
        'threads',
        'n_jobs=2',
        'n_jobs=1',
        'Fits and predictions of PESVM, of the kernel ELM by a Cholesky factor, and of sparse ELM by `block`, on '
        'generated rows.',
        machines.list_threads,
        (Aim(FASTER, 1.7, 'the second thread helps'),),
        1.5,
        WALL,
    ),
    Race(
        'landmarks',
        'PESVM on landmarks',
        'Nystroem + RidgeClassifier',
        'Fits on 5,000 rows of two sets, with as many landmarks; scored on other rows.',
        machines.list_landmarks,
        (Aim(FASTER, 1, 'landmarks train faster than with scikit-learn'), Aim(POINTS, AS_GOOD, 'they are as accurate')),
        1.5,
    ),
    Race(
        'auto',
        'auto',
        'SVC, C and gamma chosen by 5 folds on 1,000 rows',
        'Trainings on half of a set, at most 2,000 rows, all choices included; scored on the other half.',
        machines.list_auto,
        (
            Aim(FASTER, 1, 'the method that chooses for itself is faster than a tuned SVC'),
            Aim(POINTS, AS_GOOD, 'it is as accurate'),
        ),
        3.5,
        warm=False,
    ),
    Race(
        'boosting',
        'auto',
        'HistGradientBoosting and LightGBM, with their defaults',
        'Trainings on half of a set, at '
        "most 2,000 rows, or on its published folds; scored on the other rows. Sets of others' benchmarks in "
        'MR_ELM_DATA come last.',
        machines.list_boosting,
        (
            Aim(POINTS, 0, 'it is as accurate as HistGradientBoosting', 'HistGradientBoosting'),
            Aim(POINTS, 0, 'it is as accurate as LightGBM', 'LightGBM'),
        ),
        2.5,
        COUNTED,
        warm=False,
    ),
    Race(
        'accuracy',
        'sparse ELM by `block`, SphereSVM by `exact`, kernel ELM by Cholesky factors, PESVM',
        'SVC',
        'Each chooses one of nine settings by 5 folds on at most 600 rows of a '
        'random half, trains on these rows, and is scored on the other half (at most 2,400 rows). Three halves.',
        machines.list_accuracies,
        tuple(Aim(POINTS, AS_GOOD, f'{name} is as accurate as SVC', name) for name in machines.OURS),
        2.75,
        COUNTED,
        warm=False,
    ),
]
