"""Say in plain words what each part of the benchmark compares: the page of speeds puts it above the table."""
GRAM = 'a short script that only computes a Gram matrix of the same size'
SETS = 'on each public data set'
SVC = '`SVC` of scikit-learn'
ABOUT = {
    'pesvm/map': 'This part compares two programs that read the same csv file: the map task that sums up the Gram '
    f'matrix, and {GRAM} ("the bare script"). The second row divides the number of bytes that the task sends by the '
    'size of its sums, 8 (L+1+K)(L+2+K)/2 bytes for L nodes and K classes.',
    'pesvm/end-to-end': f'This part compares a whole run of `mr-elm train pesvm` in one process with {GRAM}, from '
    'arrays in memory ("the bare arithmetic") or from a csv file ("the bare script").',
    'pesvm/two-cores': 'This part compares a training by `-r local` on two cores with a training in one process.',
    'pesvm/peers': 'This part compares the fit of `ESVMClassifier` with the fit of each peer, at the same number of '
    f'random nodes, {SETS}.',
    'pesvm/many-rows': 'This part compares the fit of `ESVMClassifier` with the fit of each peer, at the same number '
    'of random nodes, on many generated rows of the kind `ndc` (Normally Distributed Clusters, see `mr-elm generate`).',
    'pesvm/memory': 'This part compares the peak memory of `mr-elm train pesvm` with its peak memory on a tenth of the '
    'rows, and with a fixed number of megabytes.',
    'pesvm/linear': 'This part trains `pesvm` on three numbers of rows, and checks that each additional row takes the '
    'same time.',
    'passes/landmarks': 'This part compares `mr-elm train pesvm --solver passes` with `--solver gram`, on 8,000 '
    'landmarks and 200,000 generated rows of the kind `ringnorm`, with `-r local` on two cores. The time of '
    '`--solver gram` is estimated from its times on an eighth and on a quarter of the rows. Each side runs once, in '
    'processor seconds of all processes.',
    'passes/arithmetic': 'This part compares `mr-elm train pesvm --solver passes` on 20,000 landmarks and 200,000 '
    'generated rows with a script that does the arithmetic of that training with numpy and scipy: the Gram matrix of '
    'the sample and its factor in float32, and as many passes, the last one in float64. Each side runs once, in '
    'processor seconds of all processes.',
    'dual/a9a': f'This part compares the fit and the prediction of `SparseELMClassifier` with those of {SVC}, on the '
    'data set a9a.',
    'dual/sets': f'This part compares the fit of `SparseELMClassifier` with the fit of {SVC}, {SETS}, with the same '
    'gamma and C. There are four settings of gamma and C; d is the number of features. The value of a set is the '
    'geometric mean over all settings, and the details show the value of each setting.',
    'dual/predictions': 'This part compares the prediction of `SparseELMClassifier` with the prediction of '
    f'{SVC}, {SETS}, for the rows on which both were trained.',
    'dual/words': f'This part compares the fits of kernel machines with that of {SVC}, on 300 rows of 200,000 words.',
    'dual/grid': f'This part compares the cross-validation of sparse ELM over a grid of sigma and C with that of '
    f'{SVC}. The time of `SVC` is estimated from a random tenth of its fits.',
    'dual/active-sets': 'This part compares the rules `oelm` and `newton` of the method `oelm` with its rule `bas`: '
    'the time, and the number of steps. There are four kinds of step. A Newton step solves a linear system for all '
    'free variables. A gradient step moves many variables at once along the gradient. The other '
    'two kinds change one variable or two variables at a time. These small steps take much less time than a Newton '
    'step, so a rule with more steps can be faster.',
    'sphere/svc': f'This part compares the fit of `SphereSVMClassifier` with the fit of {SVC}, {SETS}, with the same '
    'gamma and C. The value of a set is the geometric mean over all values of C, and the details show the value of '
    'each C.',
    'sphere/kernel-values': 'This part counts the kernel values that the rule `exact` of `sphere-svm` computes in a '
    'training. It divides this count by N times the number of support vectors, where N is the number of rows. The '
    'table shows the largest quotient of all trainings.',
    'sphere/paper': 'This part compares the rule `exact` of `sphere-svm` with its rule `paper`, the Algorithm 1 of the '
    'paper. Algorithm 1 stops earlier if its parameter eps is larger. So it runs with eps 0.001, then 0.0001, then '
    '0.00001, until it gives at most as many wrong labels as `exact`. The value compares `exact` with this run. To '
    'find the right labels, `exact` runs once more with a gap of 0.000001; a label that differs from this solution is '
    'wrong. "Not reached" means that Algorithm 1 gives more wrong labels than `exact` for all three values of eps. The '
    'details show for each run its time, its relative duality gap, and the number of wrong labels.',
    'kelm/fit': 'This part compares the fit of `KernelELMClassifier`, and the command `mr-elm train mr-kelm`, with a '
    'short script that does the same arithmetic ("the bare script"). It also compares the fit with `KernelRidge` of '
    'scikit-learn.',
    'kelm/decompositions': 'This part compares two ways to solve the equation of the kernel ELM, by a Cholesky factor '
    'and by eigenvectors, with the singular value decomposition (SVD) of the paper. For the SVD, only the '
    'decomposition is timed, not the rest of the training.',
    'kelm/emissions': 'This part compares `--emit tiles` with `--emit entries` for Algorithm 1 of the kernel ELM: the '
    'time, and what a map task sends.',
    'kelm/pass': 'This part compares one pass of `--solver cg` on `-r local` with a short script that does the same '
    'arithmetic in one process. The script computes a tenth of the rows, and its time is multiplied by ten.',
    'auto/auto': f'This part compares a training by `--auto` with a training of {SVC} whose C and gamma are chosen '
    'by cross-validation on a part of the rows ("a tuned SVC"), on 2,000 of them with `make bench`. It compares the '
    'accuracy on other rows and the time. The times include the choice of the parameters.',
    'auto/living': 'This part compares the scores of a grid of parameters, and an update of a model by new rows, with '
    'one training on all rows.',
    'probabilities/svc': 'This part compares the probabilities of `--auto --probabilities` with those of '
    '`CalibratedClassifierCV` of scikit-learn around a tuned SVC, on rows that neither has seen: the log loss, and the '
    'calibration error in 15 bins.',
    'rows/csv': 'This part compares the reading of a csv file into blocks of rows with `pandas.read_csv`, each on one '
    'thread. The files have 51 columns and about 100 MB.',
    'rows/packing': 'This part compares `mr-elm pack` of the same files with a program that calls `pandas.read_csv` '
    'and `to_parquet`. The seconds include the start of each program. A table with text is read twice, to encode it.',
    'rows/pack': 'This part compares the reading of a pack with the reading of as many rows as lines of base64, which '
    'stages write for stages.',
    'threads/fit': 'This part compares fits with `n_jobs=2` and with `n_jobs=1`, by wall clock.',
    'threads/predict': 'This part compares predictions with `n_jobs=2` and with `n_jobs=1`, by wall clock.',
    'spark/commands': 'This part compares a whole training on Spark, on two cores, with `-r local` on as many. The '
    'first row includes the start of Java.',
    'spark/passes': 'This part compares ten passes of `mr_pass` over the same rows. Spark has been started. The '
    'arithmetic is that of a short script in two processes which hold the rows as '
    'arrays.',
    'spark/products': 'This part compares ten passes of `mr_product`, with Spark started.',
    'spark/scripts': 'This part compares the Gram job, on packed rows, with what a user of Spark would write by hand. '
    'One script reads the same Parquet file as mr_elm does; the others read the rows as arrays of numpy.',
    'hadoop/bare': 'This part compares a training on Hadoop with the same map and reduce tasks in a Streaming job that '
    'is submitted by hand.',
    'hadoop/local': 'This part compares a training on Hadoop with the time of an empty job plus 1.5 times the time of '
    '`-r local` on two cores.',
    'hadoop/spark': 'This part compares trainings of many passes on Spark on two cores with the '
    'same trainings on Hadoop.'}
