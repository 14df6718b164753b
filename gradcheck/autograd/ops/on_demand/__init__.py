"""Families that load when one of their ops is first asked for, so that what few cases use slows no other down.

`FAMILIES` says which ops, and which of their other names, each file has; the test of families holds it to the files.
`gradcheck.autograd.op` looks a name up here that the table does not have yet.
"""

FAMILIES: dict[str, str] = {
    "combined_tensors": """
        block_diag cartesian_prod combinations corrcoef cov cross linalg.cross
        linear_cross_entropy pdist
    """,
    "copies": """
        alias_copy broadcast_tensors diagonal_copy dsplit expand_copy hsplit meshgrid narrow_copy
        permute_copy resolve_conj resolve_neg split_with_sizes split_with_sizes_copy squeeze_copy
        t_copy transpose_copy unbind_copy unsafe_chunk unsafe_split unsqueeze_copy view_copy
        vsplit
    """,
    "decompositions": """
        eig_packed eigh_packed linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.svd
        svd
    """,
    "fourier": """
        _fft_c2c _fft_c2r _fft_r2c fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.hfft2
        fft.hfftn fft.ifft fft.ifft2 fft.ifftn fft.ifftshift fft.ihfft fft.ihfft2 fft.ihfftn
        fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
    """,
    "further_activations": """
        _safe_softmax _softmax_backward_data alpha_dropout bilinear dropout2d dropout3d
        embedding_bag feature_alpha_dropout glu hardsigmoid hardswish local_response_norm
        native_dropout_backward prelu
    """,
    "further_linalg": """
        cholesky_inverse cholesky_solve linalg.cholesky_ex linalg.cond linalg.householder_product
        linalg.inv_ex linalg.lstsq linalg.matrix_exp linalg.solve_ex linalg.tensorinv
        linalg.tensorsolve linalg.vander matrix_exp orgqr ormqr triangular_solve
    """,
    "further_losses": """
        ctc_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss
        triplet_margin_with_distance_loss
    """,
    "grid_sampling": "grid_sample grid_sampler_2d grid_sampler_3d",
    "masked_reductions": """
        masked.amax masked.amin masked.cumprod masked.cumsum masked.log_softmax masked.logaddexp
        masked.logsumexp masked.mean masked.median masked.norm masked.normalize masked.prod
        masked.softmax masked.softmin masked.std masked.sum masked.var
    """,
    "native_norms": """
        _batch_norm_with_update _native_batch_norm_legit native_batch_norm native_group_norm
        native_layer_norm
    """,
    "pools_undone": """
        adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d conv_transpose1d
        conv_transpose2d conv_transpose3d max_pool2d_with_indices_backward max_unpool1d
        max_unpool2d max_unpool3d
    """,
    "quantiles": """
        kthvalue median median_place mode mode_place msort nanmedian nanquantile quantile
        ranked_place
    """,
    "rare_arithmetic": """
        _unsafe_masked_index _unsafe_masked_index_put_accumulate binary_exponent copysign
        float_power frexp ldexp logaddexp2 nextafter renorm segment_reduce stft
    """,
    "resampling": """
        _upsample_bilinear2d_aa adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
        interpolate upsample_bilinear upsample_nearest
    """,
    "running_extremes": """
        cummax cummin cumulative_trapezoid diff gradient logcumsumexp running_place trapezoid
        trapz
    """,
    "special_functions": """
        digamma erfinv i0 lgamma mvlgamma polygamma special.digamma special.entr special.erfcx
        special.erfinv special.gammaln special.i0 special.i0e special.i1 special.i1e
        special.log_ndtr special.multigammaln special.ndtr special.ndtri special.polygamma
        special.psi special.xlog1py
    """,
    "triangular_factors": """
        linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve linalg.qr lu lu_packed
        lu_pivots lu_solve lu_unpack pivoted_rows qr qr_packed
    """,
    "window_views": """
        as_strided as_strided_copy as_strided_scatter channel_shuffle fold nn.functional.unfold
        pixel_shuffle pixel_unshuffle unfold unfold_copy
    """,
    "written_slices": """
        fill index_copy index_fill index_reduce masked_scatter put scatter_reduce select_scatter
        slice slice_scatter
    """,
}
