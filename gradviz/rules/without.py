"""Functions through which no gradient flows: comparisons, rounding, searches, facts about shape and dtype."""

from __future__ import annotations

import numpy as np

from gradviz.engine.rule import no_gradient

no_gradient(
    np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal,
    np.logical_and, np.logical_or, np.logical_not, np.logical_xor, np.isnan, np.isinf, np.isfinite, np.signbit,
    np.isneginf, np.isposinf, np.isclose, np.allclose, np.array_equal, np.array_equiv, np.isreal, np.iscomplex,
    np.iscomplexobj, np.isrealobj, np.isin, np.intersect1d,
    np.floor, np.ceil, np.trunc, np.rint, np.round, np.around, np.fix, np.floor_divide, np.sign, np.spacing,
    np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.argsort, np.argpartition, np.lexsort, np.searchsorted, np.digitize,
    np.nonzero, np.flatnonzero, np.argwhere, np.count_nonzero, np.all, np.any,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift, np.gcd, np.lcm,
    np.unravel_index, np.ravel_multi_index, np.diag_indices_from, np.tril_indices_from, np.triu_indices_from, np.ix_, np.isnat,
    np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.min_scalar_type, np.common_type,
    np.einsum_path, np.packbits, np.unpackbits, np.bitwise_count, np.isdtype,
    np.save, np.savez, np.savez_compressed, np.savetxt,
    np.may_share_memory, np.shares_memory, np.array_repr, np.array_str, np.array2string,
)  # fmt: skip
