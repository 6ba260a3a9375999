"""Choose a solver of the box-constrained dual by its rule; compiled code is loaded when one is asked for."""

from importlib import import_module

from mr_elm.errors import demand_choice, write_value
from mr_elm.solvers.box import BoxQP, Result, Settings

# rule -> (module, function); a function takes a BoxQP and Settings and returns a Result
RULES = {
    'block': ('sparse_elm_blocks', 'solve_by_blocks'),
    'paper': ('sparse_elm_paper', 'solve_by_paper'),
    'newton': ('active_set', 'solve_newton'),
    'oelm': ('active_set', 'solve_oelm'),
    'bas': ('active_set', 'solve_bas'),
}
# On the outputs of random nodes only, see `coordinate`, the default there. Timed on 200 sigmoid nodes, 6 sets of 351
# to 7,089 rows (all rules) and 2 of 5,404 and 19,020 (coordinate and block), on one thread: at C = 1, the default C, it
# takes 0.35 to 0.45 of the seconds of `block` on sets of more than 5,000 rows, 1.1 to 1.4 on smaller ones, and less
# than any other rule. At C = 100 `block` is the fastest, and coordinate is left unfinished on two sets.
COORDINATE = 'coordinate'
# method -> its rules, the default of kernels first; SphereSVM is another problem
METHOD_RULES = {
    'sparse-elm': ('block', 'paper', COORDINATE),
    'oelm': ('newton', 'oelm', 'bas', COORDINATE),
    'sphere-svm': ('exact', 'paper'),
}


def choose_rule(method: str, rule: str | None, on_nodes: bool) -> str:
    """Return the rule that solves: the one asked for, or the default of kernels or of random nodes.

    Raises ValueError for a rule that the method does not have, or that needs random nodes.
    """
    rules = METHOD_RULES[method]
    chosen = rule or (COORDINATE if on_nodes and COORDINATE in rules else rules[0])
    of_kernels = [name for name in rules if name != COORDINATE]
    if chosen not in (rules if on_nodes else of_kernels):
        where = ' with a kernel'
        if on_nodes or chosen != COORDINATE:
            where = ''
        raise ValueError(
            f'rule: expected {" or ".join(rules if on_nodes else of_kernels)}{where}, found {write_value(rule)}'
        )
    return chosen


def solve_dual(problem: BoxQP, rule: str = 'block', settings: Settings | None = None) -> Result:
    """Minimise a BoxQP by the rule named and return its Result."""
    demand_choice('rule', rule, RULES)
    module, function = RULES[rule]
    solve = getattr(import_module(f'.{module}', __package__), function)
    return solve(problem, settings or Settings())
