"""The types of attributes of operators of com.microsoft, which have no schema."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import AttributeProto

DOMAIN = "com.microsoft"


def attribute_kind(operator: str, attribute: str) -> int | None:
    """The type of an attribute, if it is known."""
    if (operator, attribute) in _EXCEPTIONS:
        return _EXCEPTIONS[operator, attribute]
    return next((kind for kind, names in _KINDS.items() if attribute in names.split()), None)


# a name has one type in all operators …
_KINDS: Mapping[int, str] = {
    AttributeProto.INT: """
        K N accuracy_level activation_axis align_corners axis bits block_size causal ceil_mode
        channels_last count_include_pad dim do_rotary group groups hidden_size input_forget
        interleaved is_inner_broadcast is_packed_batching isinf_only isnan_only keepdims
        kv_cache_bit_width kv_num_heads local_window_size mask_index_type normalized num_heads
        onesided past_present_share_buffer qk_output rotary_embedding_dim rotary_interleaved seed
        signal_ndim size sliding_window_cache smooth_softmax step transA transB transBatchA
        transBatchB unidirectional upper weight_prepacked
    """,
    AttributeProto.FLOAT: """
        activation_alpha activation_beta activation_gamma alpha beta clip epsilon
        extrapolation_value mask_filter_value qk_norm_epsilon scale softcap
    """,
    AttributeProto.STRING: """
        activation auto_pad direction k_quant_type metric mode padding_mode v_quant_type
    """,
    AttributeProto.INTS: "axes dilations kernel_shape pads qkv_hidden_sizes strides",
    AttributeProto.FLOATS: "activation_params",
    AttributeProto.STRINGS: "activations",
}

# … with these exceptions
_EXCEPTIONS: Mapping[tuple[str, str], int] = {
    ("GroupNorm", "activation"): AttributeProto.INT,
    ("SkipGroupNorm", "activation"): AttributeProto.INT,
    ("DynamicQuantizeLSTM", "activation_alpha"): AttributeProto.FLOATS,
    ("DynamicQuantizeLSTM", "activation_beta"): AttributeProto.FLOATS,
}
