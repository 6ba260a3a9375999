"""Show how each command is used: the form of its line, and lines that work, for the help of all commands."""

from mr_elm.methods import METHODS

JOBS = 'INPUT... [options]'


# command -> (what follows it, lines that users type behind `mr-elm`, each with what it does)
EXAMPLES = {
    **{
        f'train {name}': (
            f'{JOBS} --model OUT.npz',
            {f'train {name} {line}': what for line, what in method.examples.items()},
        )
        for name, method in METHODS.items()
    },
    'layer': (
        'METHOD INPUT... [options of train] --model OUT.npz\n       mr-elm layer TRAINING OUTPUT... [options]',
        {
            'layer pesvm rows.csv --hidden 200 --model m.npz': 'begin; `train --script` prints all the commands',
            'layer m.training.json m.stats': 'write the nodes and grids, from the statistics',
        },
    ),
    'finish': (
        'TRAINING OUTPUT... [options]',
        {'finish m.training.json m.stats m.gram': 'the model that `mr-elm train` makes'},
    ),
    **{
        f'tune {name}': (JOBS, {f'tune {name} {line}': what for line, what in method.tuning.examples.items()})
        for name, method in METHODS.items()
        if method.tuning
    },
    'update': (
        'MODEL INPUT... [options] --model OUT.npz',
        {'update m.npz tuesday.csv --model m2.npz': 'the model of all rows; only the new ones are read'},
    ),
    'forget': (
        'MODEL INPUT... [options] --model OUT.npz',
        {
            'forget m2.npz tuesday.csv --model m.npz --overwrite': 'the model of all other rows, which are not read',
            'forget m2.npz some.csv --ledger m.ledger --model m3.npz': 'rows that were never in are refused',
        },
    ),
    'merge': (
        'MODEL MODEL... --model OUT.npz [options]',
        {'merge a.npz b.npz --model both.npz': 'b was trained with --like a.npz'},
    ),
    'sums': (
        'INPUT... -o OUT [options]',
        {
            'sums rows.csv --statistics -o a.stats.json': 'then: mr-elm layer pesvm *.stats.json --model layer.npz',
            'sums rows.csv --layer layer.npz -o a.sums.npz': 'then: mr-elm merge *.sums.npz --model m.npz',
            'sums rows.csv --layer layer.npz --mask a.pem --with b.pub -o a.sums.npz': 'hidden from the coordinator',
        },
    ),
    'parts': (
        'MODEL [options]',
        {
            'parts m.npz --nu 0.1,1,10': 'score each file by the model of the others: train --part-by file',
            'parts m.npz --without 2019.csv --model m2.npz': 'the model of all other files',
        },
    ),
    'verify': (
        'MODEL [INPUT...] --ledger FILE [options]',
        {
            'verify m.npz --ledger m.ledger': 'model, ledger and receipts are as they were written',
            'verify m.npz left.csv --ledger m.ledger': 'and the model is the one of exactly these rows',
        },
    ),
    'predict': (
        'MODEL INPUT... -o OUT [options]',
        {
            'predict m.npz test.csv -o labels.txt': 'rows as in the training; labels are ignored',
            'predict m.npz new.csv --no-label --scores -o out.txt': 'rows without a label; values too',
            'predict m.npz - --no-label': 'answer rows on standard input, line by line',
        },
    ),
    'evaluate': (
        'MODEL INPUT... [options]',
        {
            'evaluate m.npz test.csv': 'a table',
            'evaluate m.npz test.csv --json -q': 'one JSON object',
            'evaluate m.npz rows.csv --leave-one-out': 'the rows of the training, each held out',
        },
    ),
    'inspect': (
        'MODEL [options]',
        {
            'inspect m.npz': 'classes, rows used and rejected, options, history',
            'inspect m.npz --rows': 'what in the model stems from single rows',
        },
    ),
    'export': (
        'MODEL -o FILE [options]',
        {
            'export m.npz -o m.onnx': 'for onnxruntime and others: the answers of mr-elm predict',
            'export m.npz -o m.sql --dialect postgres --table rows --keep id': 'the same as a query of a database',
            'export m.npz -o m.html --test test.csv': 'a page about the model and its scores',
        },
    ),
    'pack': (
        'INPUT... -o DIR [options]',
        {
            'pack rows.csv -o rows.packed --dtype float32': 'rows that will be read often',
            'pack rows.csv -o hdfs:///rows -r hadoop': 'straight onto a cluster',
        },
    ),
    'bundle': ('-o FOLDER [options]', {'bundle -o hdfs:///apps': 'then: mr-elm train ... -r hadoop --bundle PATH'}),
    'clean': (
        '[options]',
        {'clean': 'temporary files of this machine', 'clean -r hadoop': 'and folders of runs on HDFS'},
    ),
    'generate': (
        'KIND --rows N -o OUT [options]',
        {
            'generate twonorm --rows 100000 --features 20 -o rows.csv': 'two classes',
            'generate blobs --rows 1000 --classes 5 -o rows.libsvm': 'five classes, as LIBSVM text',
        },
    ),
    'completion': (
        'SHELL',
        {
            'completion bash': 'bash and zsh: eval "$(mr-elm completion bash)" in ~/.bashrc or ~/.zshrc',
            'completion fish': 'in ~/.config/fish/config.fish: mr-elm completion fish | source',
        },
    ),
}
