"""What `coverage.py` cannot find out by itself: names without values to differentiate, and what peers differentiate.

Names are separated by spaces; ``*`` stands for any letters.
"""

from __future__ import annotations

# Nothing in the result depends on the values of an array: shapes, dtypes, index grids, new arrays made from sizes.
STRUCTURAL = {
    "numpy": """
        arange bartlett blackman broadcast_shapes can_cast common_type diag_indices diag_indices_from einsum_path empty empty_like eye
        fromfunction hamming hanning identity indices iscomplexobj isdtype isfortran isrealobj isscalar issubdtype iterable ix_
        mask_indices may_share_memory min_scalar_type mintypecode ndim nested_iters ones ones_like promote_types result_type shape
        shares_memory size tri tril_indices tril_indices_from triu_indices triu_indices_from typename zeros zeros_like
    """,
    "numpy.fft": "fftfreq rfftfreq",
    "scipy.special": """
        *_zeros *_roots roots_* bernoulli euler factorial2 factorialk stirling2 obl_cv_seq pro_cv_seq mathieu_even_coef mathieu_odd_coef
        jacobi legendre chebyt chebyu chebyc chebys laguerre genlaguerre hermite hermitenorm gegenbauer
        sh_legendre sh_chebyt sh_chebyu sh_jacobi
    """,
    "scipy.linalg": "dft hadamard helmert hilbert invhilbert invpascal pascal",
    "scipy.signal": "choose_conv_method correlation_lags check_COLA check_NOLA get_window max_len_seq unit_impulse",
    "scipy.integrate": "lebedev_rule newton_cotes",
}

# No number comes out that could be differentiated, or none goes in: text, files, dates, bits, settings, other types.
NO_DERIVATIVE = {
    "numpy": """
        array2string array_repr array_str asmatrix base_repr binary_repr bitwise_* bmat busday_count busday_offset datetime_as_string
        datetime_data format_float_positional format_float_scientific from_dlpack frombuffer fromfile fromiter frompyfunc fromregex
        fromstring gcd genfromtxt get_include get_printoptions getbufsize geterr geterrcall info invert is_busday isnat lcm left_shift
        load loadtxt packbits printoptions right_shift save savetxt savez savez_compressed set_printoptions setbufsize seterr seterrcall
        show_config show_runtime unpackbits
    """,
    "scipy.special": "geterr seterr errstate",
    "scipy.linalg": """
        bandwidth find_best_blas_type get_blas_funcs get_lapack_funcs ishermitian issymmetric clarkson_woodruff_transform
    """,
}

# Why names of SciPy have no derivative yet; the first pattern that fits says it.
WHY_NOT = {
    "scipy.special": {
        "bdtri[kn] nbdtri[kn] pdtrik btdtri[ab] chdtriv chndtridf fdtridfd gdtrib ncfdtridf[dn] nctdtridf nctdtrinc stdtridf":
            "inverse in a parameter of a distribution: one over its derivative there, a series that SciPy has no function for",
        "mathieu_[ab] obl_* pro_* ellip_*": "eigenvalue problem: derivatives in its parameters have no closed form",
        "lqn lqmn lmbda riccati_* *_seq": "takes one number and gives a whole sequence with its derivatives: differentiate the function "
            "of one order, where SciPy has it",
        "legendre_p* assoc_legendre_p* sph_legendre_p* sph_harm_y_all": "gives its own derivatives (`diff_n=`), so no rule is written yet; "
            "`eval_legendre`, `sph_harm_y` are differentiable",
        "assoc_laguerre": "`eval_genlaguerre(n, k, x)` is the same and differentiable",
        "softplus": "`np.logaddexp(0, x)` is the same and differentiable",
        "zetac": "SciPy has no derivative of Riemann's zeta function",
    },
    "scipy.linalg": {
        "schur hessenberg qz ordqz rsf2csf cdf2rdf cossin": "defined up to signs, phases, order; and singular where eigenvalues "
            "meet: a derivative needs a convention, which is not chosen yet",
        "ldl": "pivots jump as the matrix changes; of positive definite matrices `cholesky` is differentiable",
        "qr_* rq": "not written yet; `qr` is differentiable",
        "*_banded": "not written yet; the same on the whole matrix is differentiable",
        "*": "not written yet: no rule turns its result into differentiable calls",
    },
    "scipy.signal": {
        "istft stft": "not written yet; `spectrogram` is differentiable",
        "argrel* find_peaks* peak_*": "finds places or their measures: piecewise, with jumps where peaks appear; not written yet",
        "*": "SciPy reads the arguments as plain arrays, and its steps are not written as differentiable calls yet",
    },
    "scipy.integrate": {
        "tplquad": "`nquad` with three ranges is the same and differentiable",
        "cubature tanhsinh": "not written yet; `quad`, `quad_vec`, `nquad` are differentiable",
        "nsum": "not written yet: derivatives of terms need convergence tests of their own",
        "qmc_quad": "random points: differentiate the mean over fixed points instead",
        "solve_bvp": "needs implicit differentiation of its collocation, whose mesh it chooses; not written yet",
    },
}  # fmt: skip

# Names that are on their way out, or are no functions of numbers at all.
LEFT_OUT = {"row_stack", "test"}

# What HIPS autograd 1.9.1 has a rule for, or builds from functions that have one (read from its table of rules).
AUTOGRAD = {
    "numpy": """
        abs absolute acos acosh add amax amin angle append arccos arccosh arcsin arcsinh arctan arctan2 arctanh array array_split asin
        asinh astype atan atan2 atanh atleast_1d atleast_2d atleast_3d broadcast_to clip column_stack concatenate conj conjugate cos
        cosh cross cumsum deg2rad degrees diag diagonal diff divide dot dsplit einsum exp exp2 expand_dims expm1 fabs fliplr flipud fmax
        fmin full gradient hsplit hstack hypot imag inner kron linspace log log10 log1p log2 logaddexp logaddexp2 matmul max maximum
        mean min minimum mod moveaxis multiply nan_to_num negative outer pad partition permute_dims pow power prod rad2deg radians ravel
        real real_if_close reciprocal remainder repeat reshape roll rollaxis rot90 select sin sinc sinh sort split sqrt square
        squeeze stack std subtract sum swapaxes tan tanh tensordot tile trace transpose tril triu true_divide var vsplit vstack where
    """,
    "numpy.linalg": "cholesky det eig eigh inv norm pinv slogdet solve svd",
    "numpy.fft": "fft fft2 fftn fftshift ifft ifft2 ifftn ifftshift irfft irfft2 irfftn rfft rfft2 rfftn",
    "scipy.special": """
        beta betainc betaln digamma erf erfc erfcinv erfinv expit gamma gammainc gammaincc gammaln gammasgn i0 i1 iv ive j0 j1 jn logit
        logsumexp multigammaln polygamma psi rgamma y0 y1 yn
    """,
    "scipy.linalg": "solve_banded solve_sylvester solve_triangular sqrtm",
    "scipy.signal": "convolve",
    "scipy.integrate": "odeint",
}

# What JAX 0.10.2 gave a nonzero reverse-mode gradient for, when each of its public functions was called on generic arrays.
JAX = {
    "numpy": """
        abs absolute acos acosh add amax amin angle append apply_along_axis apply_over_axes arccos arccosh arcsin arcsinh arctan arctan2
        arctanh array array_split asarray asin asinh astype atan atan2 atanh atleast_1d atleast_2d atleast_3d average bincount block
        broadcast_arrays broadcast_to cbrt choose clip column_stack compress concat concatenate conj conjugate convolve copy copysign
        corrcoef correlate cos cosh cov cross cumprod cumsum cumulative_prod cumulative_sum deg2rad degrees delete diag diagflat
        diagonal diff divide divmod dot dsplit dstack ediff1d einsum exp exp2 expand_dims expm1 extract fabs fill_diagonal flip fliplr
        flipud float_power fmax fmin fmod frexp full full_like geomspace gradient heaviside histogram histogram2d histogramdd hsplit
        hstack hypot i0 imag inner insert interp kaiser kron ldexp linspace log log10 log1p log2 logaddexp logaddexp2 logspace matmul
        matrix_transpose matvec max maximum mean median meshgrid min minimum mod modf moveaxis multiply nan_to_num nancumprod nancumsum
        nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar negative outer pad partition percentile
        permute_dims piecewise place poly polyadd polyder polydiv polyfit polyint polymul polysub polyval positive pow power prod ptp put
        put_along_axis quantile rad2deg radians ravel real reciprocal remainder repeat reshape resize roll rollaxis roots rot90 select
        sin sinc sinh sort sort_complex split sqrt square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh
        tensordot tile trace transpose trapezoid tril triu trim_zeros true_divide unstack unwrap vander var vdot vecdot vecmat vectorize
        vsplit vstack where
    """,
    "numpy.linalg": """
        cholesky cond cross det diagonal eigh eigvals eigvalsh inv lstsq matmul matrix_norm matrix_power matrix_transpose multi_dot norm
        outer pinv qr slogdet solve svd svdvals tensordot tensorinv tensorsolve trace vecdot vector_norm
    """,
    "numpy.fft": """
        fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn
    """,
    "scipy.special": """
        bernoulli beta betainc betaln boxcox boxcox1p comb dawsn digamma ellipe ellipk entr erf erfc erfcx erfinv exp1 expi expit expn
        factorial fresnel gamma gammainc gammaincc gammaln gammasgn hyp1f1 hyp2f1 i0 i0e i1 i1e kl_div log_ndtr log_softmax loggamma
        logit logsumexp multigammaln ndtr ndtri owens_t poch polygamma psi rel_entr sici softmax spence sph_harm_y wofz xlog1py xlogy
        zeta
    """,
    "scipy.linalg": """
        block_diag cho_factor cho_solve cholesky circulant companion det eigh expm expm_frechet fiedler hankel inv lu lu_factor lu_solve
        qr rsf2csf solve solve_sylvester solve_triangular svd toeplitz
    """,
    "scipy.signal": "convolve convolve2d correlate correlate2d csd detrend fftconvolve istft stft welch",
    "scipy.integrate": "trapezoid",
}
