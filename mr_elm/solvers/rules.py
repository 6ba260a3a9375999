"""Choose a solver of the box-constrained dual by its rule; compiled code is loaded when one is asked for."""
from importlib import import_module

from mr_elm.solvers.box.box_qp import BoxQP, Result, Settings
from mr_elm.solvers.sphere import sphere_svm

# rule -> (module, function); a function takes a BoxQP and Settings and returns a Result
RULES = {
    'block': ('box.block_rule', 'solve_by_blocks'),
    'paper': ('box.sparse_elm', 'solve_by_paper'),
    'oelm': ('box.active_set', 'solve_oelm'),
    'bas': ('box.active_set', 'solve_bas'),
}
# method -> its rules, the default first; SphereSVM is another problem
METHOD_RULES = {'sparse-elm': ('block', 'paper'), 'oelm': ('oelm', 'bas'), 'sphere-svm': sphere_svm.RULES}


def solve_dual(problem: BoxQP, rule: str = 'block', settings: Settings | None = None) -> Result:
    """Minimise a BoxQP by the rule named and return its Result."""
    if rule not in RULES:
        raise ValueError(f'rule: one of {", ".join(RULES)} was expected, {rule!r} came')
    module, function = RULES[rule]
    solve = getattr(import_module(f'.{module}', __package__), function)
    return solve(problem, settings or Settings())
