"""The families of ops, files of `ops/` that load on first use.

A new op's name and aliases are listed here too; a test compares this list with the files. `rare_ops/` has the families
that few cases use.
"""

from __future__ import annotations

#: Products of two factors: of matrices and vectors, by `matmul` or one of its special cases.
MATRIX_PRODUCTS = ("matmul", "mm", "bmm", "mv", "dot")
#: Products in which a factor's gradient is the incoming one times the other factor, in an order that matters.
PRODUCTS = (*MATRIX_PRODUCTS, "linear")
#: Ops that add up products, so that they multiply more often than their result has elements.
CONTRACTIONS = ("matmul", "einsum", "tensordot")

FAMILIES: dict[str, str] = {
    "activations": """
        celu elu gelu hardshrink hardtanh leaky_relu logit logsigmoid mish relu relu6 selu sigmoid silu
        softplus softshrink softsign special.expit special.logit tanhshrink threshold
    """,
    "arithmetic": """
        abs absolute add addcdiv addcmul div divide hypot lerp mul multiply neg negative positive reciprocal
        rsub sgn sign sub subtract true_divide
    """,
    "comparison_where": """
        bitwise_and bitwise_not bitwise_or bitwise_xor eq ge greater greater_equal gt isclose isfinite isinf
        isnan isneginf isposinf le less less_equal logical_and logical_not logical_or logical_xor lt
        masked_fill nan_to_num ne not_equal signbit where
    """,
    "complex_numbers": "angle complex conj conj_physical imag polar real view_as_complex view_as_real",
    "contraction": "einsum inner kron tensordot",
    "convolution_pooling": """
        avg_pool1d avg_pool2d avg_pool3d conv1d conv2d conv3d max_pool1d max_pool2d max_pool3d
    """,
    "creation": """
        arange eye full full_like linspace new_full new_ones new_zeros normal ones ones_like rand rand_like
        randint randint_like randn randn_like randperm tensor uniform uniform_like zeros zeros_like
    """,
    "cross_entropies": "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy nll_loss",
    "cumulative_sums": "cumprod cumsum",
    "determinants": "cofactors det det_hessian det_sign linalg.det linalg.slogdet logabsdet logdet slogdet",
    "diagonals_triangles": """
        diag diag_embed diagflat diagonal diagonal_scatter linalg.diagonal trace tril triu
    """,
    "exp_log_pow": """
        exp exp2 expm1 log log10 log1p log2 logaddexp pow rsqrt special.exp2 special.expm1 special.log1p
        sqrt square
    """,
    "expansion": "broadcast_to expand expand_as repeat repeat_interleave sum_to_size tile",
    "factorizations": "cholesky linalg.cholesky linalg.svdvals svd_packed",
    "gather_scatter": "gather index_add index_select scatter scatter_add take_along_dim",
    "indexing": "getitem index_adjoint index_put masked_select narrow select take",
    "inverse_solve": """
        inv inverse linalg.inv linalg.matrix_power linalg.pinv linalg.solve linalg.solve_triangular
        matrix_power pinverse
    """,
    "join_split": """
        cat chunk column_stack concat concatenate dstack hstack row_stack split stack tensor_split unbind
        vstack
    """,
    "layers": "dropout embedding linear one_hot scaled_dot_product_attention",
    "losses": """
        cosine_embedding_loss gaussian_nll_loss hinge_embedding_loss huber_loss kl_div l1_loss
        margin_ranking_loss mse_loss poisson_nll_loss smooth_l1_loss soft_margin_loss triplet_margin_loss
    """,
    "matrix_products": """
        addbmm addmm addmv addr baddbmm bmm dot ger linalg.matmul linalg.multi_dot linalg.vecdot matmul mm
        mv outer vdot
    """,
    "min_max": """
        amax amin aminmax argmax argmin clamp clamp_max clamp_min clip fmax fmin max maximum min minimum
    """,
    "normalization": "batch_norm group_norm instance_norm layer_norm normalize rms_norm",
    "norms_distances": """
        cdist cosine_similarity dist linalg.matrix_norm linalg.norm linalg.vector_norm norm
        pairwise_distance
    """,
    "padding": "constant_pad_nd pad",
    "reductions": "all any count_nonzero mean nanmean nansum prod std std_mean sum var var_mean",
    "rounding_remainder": "ceil fix floor floor_divide fmod frac remainder round trunc",
    "shape_casts": """
        atleast_1d atleast_2d atleast_3d bfloat16 bool cdouble cfloat clone contiguous detach double flatten
        float half int long ravel reshape reshape_as short squeeze to type type_as unflatten unsqueeze view
        view_as
    """,
    "softmax_logsumexp": "log_softmax logsumexp softmax softmin special.logsumexp",
    "sorting": "argsort sort topk",
    "error_functions": "erf erfc special.erf special.erfc special.xlogy xlogy",
    "transpose_flip": """
        H T adjoint flip fliplr flipud mH mT moveaxis movedim permute roll rot90 swapaxes swapdims t
        transpose
    """,
    "trigonometric": """
        acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh cos cosh
        deg2rad rad2deg sin sinc sinh special.sinc tan tanh
    """,
    "rare_ops.combined_tensors": """
        block_diag cartesian_prod combinations corrcoef cov cross linalg.cross linear_cross_entropy pdist
    """,
    "rare_ops.copies": """
        alias_copy as_strided_copy broadcast_tensors chalf diagonal_copy dsplit expand_copy hsplit
        meshgrid narrow_copy permute_copy resolve_conj resolve_neg select_copy slice_copy split_copy
        split_with_sizes split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy
        unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze_copy
        view_as_real_copy view_copy vsplit
    """,
    "rare_ops.decompositions": """
        eig_packed eigh_packed linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.svd svd
    """,
    "rare_ops.fourier": """
        _fft_c2c _fft_c2r _fft_r2c fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.hfft2 fft.hfftn
        fft.ifft fft.ifft2 fft.ifftn fft.ifftshift fft.ihfft fft.ihfft2 fft.ihfftn fft.irfft fft.irfft2
        fft.irfftn fft.rfft fft.rfft2 fft.rfftn
    """,
    "rare_ops.further_activations": """
        _safe_softmax _softmax_backward_data alpha_dropout bilinear dropout1d dropout2d dropout3d
        embedding_bag feature_alpha_dropout glu hardsigmoid hardswish local_response_norm
        native_dropout_backward prelu rrelu
    """,
    "rare_ops.further_linalg": """
        chain_matmul cholesky_inverse cholesky_solve linalg.cholesky_ex linalg.cond
        linalg.householder_product linalg.inv_ex linalg.lstsq linalg.matrix_exp linalg.solve_ex
        linalg.tensorinv linalg.tensorsolve linalg.vander matrix_exp orgqr ormqr triangular_solve
    """,
    "rare_ops.further_losses": """
        ctc_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss
        triplet_margin_with_distance_loss
    """,
    "rare_ops.further_pools": """
        adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices
        adaptive_max_pool3d_with_indices lp_pool1d lp_pool2d lp_pool3d max_pool1d_with_indices
        max_pool2d_with_indices max_pool3d_with_indices
    """,
    "rare_ops.grid_sampling": "affine_grid grid_sample grid_sampler grid_sampler_2d grid_sampler_3d",
    "rare_ops.masked_reductions": """
        masked.amax masked.amin masked.cumprod masked.cumsum masked.log_softmax masked.logaddexp
        masked.logsumexp masked.mean masked.median masked.norm masked.normalize masked.prod masked.softmax
        masked.softmin masked.std masked.sum masked.var
    """,
    "rare_ops.native_norms": """
        _batch_norm_with_update _native_batch_norm_legit native_batch_norm native_group_norm
        native_layer_norm
    """,
    "rare_ops.unpooling": """
        adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d conv_tbc conv_transpose1d
        conv_transpose2d conv_transpose3d max_pool2d_with_indices_backward max_unpool1d max_unpool2d
        max_unpool3d
    """,
    "rare_ops.quantiles": """
        kthvalue median median_of_all median_place mode mode_place msort nanmedian nanquantile quantile ranked_place
    """,
    "rare_ops.rare_arithmetic": """
        _unsafe_masked_index _unsafe_masked_index_put_accumulate binary_exponent copysign
        float_power frexp heaviside ldexp logaddexp2 nextafter renorm segment_reduce
    """,
    "rare_ops.resampling": """
        _upsample_bilinear2d_aa adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
        interpolate upsample upsample_bilinear upsample_nearest
    """,
    "rare_ops.running_extremes": """
        cummax cummin cumulative_trapezoid diff gradient logcumsumexp running_place trapezoid trapz
    """,
    "rare_ops.short_time_fourier": "istft stft",
    "rare_ops.special_functions": """
        digamma erfinv i0 igamma igammac lgamma mvlgamma polygamma special.digamma special.entr
        special.erfcx special.erfinv special.gammainc special.gammaincc special.gammaln special.i0
        special.i0e special.i1 special.i1e special.log_ndtr special.multigammaln special.ndtr
        special.ndtri special.polygamma special.psi special.xlog1py special.zeta
    """,
    "rare_ops.triangular_factors": """
        linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve linalg.qr lu lu_packed lu_pivots
        lu_solve lu_unpack pivoted_rows qr qr_packed
    """,
    "rare_ops.window_views": """
        as_strided as_strided_scatter channel_shuffle fold native_channel_shuffle
        nn.functional.unfold pixel_shuffle pixel_unshuffle unfold
    """,
    "rare_ops.slice_assignment": """
        fill index_copy index_fill index_reduce masked_scatter put scatter_reduce select_scatter slice
        slice_scatter
    """,
}


def named_families() -> dict[str, list[str]]:
    """Return the names of each family's ops, by its name in words."""
    return {family.rpartition(".")[2].replace("_", " "): names.split() for family, names in FAMILIES.items()}
