"""Offer the solvers as scikit-learn estimators: thin, over rows in memory that the caller has scaled."""
from .dual import OELMClassifier, SparseELMClassifier, SphereSVMClassifier
from .elm import ELMClassifier, ELMRegressor
from .esvm import ESVMClassifier, ESVMRegressor
from .kelm import KernelELMClassifier, KernelELMRegressor

__all__ = ['ELMClassifier', 'ELMRegressor', 'ESVMClassifier', 'ESVMRegressor', 'KernelELMClassifier',
           'KernelELMRegressor', 'OELMClassifier', 'SparseELMClassifier', 'SphereSVMClassifier']
