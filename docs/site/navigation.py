"""List the pages of the site in reading order; the build fails for a page of the manual that is missing here."""

NAVIGATION = {
    'Guide': [
        'first-steps',
        'gallery',
        'methods',
        'metric',
        'text',
        'input',
        'python',
        'export',
        'hadoop',
        'emr',
        'spark',
        'commands',
        'stages',
        'audit',
        'trouble',
    ],
    'Results': ['results/index', 'results/speed', 'results/accuracy', 'results/papers'],
    'Reference': ['model-file', 'wire', 'papers', 'glossary', 'extending', 'changelog', 'api/index'],
}
