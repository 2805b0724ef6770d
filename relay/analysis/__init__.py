"""Analyses of programs; none changes a program. One file, one subject.

Names people use as `relay.analysis.X` are resolved on first use.
"""

from relay.late_names import late_names

__all__, __getattr__, __dir__ = late_names(
    __name__,
    {
        "relay.analysis": ("sparse_conv2d", "sparse_dense"),
        "relay.analysis.annotated_regions": ("AnnotatedRegion", "AnnotatedRegionSet"),
        "relay.analysis.call_graph": ("CallGraph",),
        "relay.analysis.constants": ("check_constant",),
        "relay.analysis.element_types": ("all_dtypes",),
        "relay.analysis.fake_quantized_ops": ("list_fake_quantized_op_freqs",),
        "relay.analysis.fc_transpose": ("search_fc_transpose",),
        "relay.analysis.features": ("Feature", "detect_feature"),
        "relay.analysis.fused_functions": ("extract_fused_functions",),
        "relay.analysis.intermediate": ("extract_intermdeiate_expr",),
        "relay.analysis.layers": ("count_layers",),
        "relay.analysis.lowerable": ("check_lowerable", "lowerable_faults"),
        "relay.analysis.mac_count": ("get_total_mac_number",),
        "relay.analysis.normal_forms": ("check_a_normal_form", "check_basic_block_normal_form"),
        "relay.analysis.operations_distribution": ("analyze_operations_distribution",),
        "relay.analysis.operator_frequencies": ("list_op_freqs",),
        "relay.analysis.purity": ("Effect", "Purity"),
        "relay.analysis.type_variables": ("all_type_vars", "bound_type_vars", "free_type_vars"),
        "relay.analysis.visiting": ("post_order_visit",),
        "relay.analysis.well_formedness": ("well_formed",),
        "relay.check.exhaustive": ("unmatched_cases",),
        "relay.check.kinds": ("check_kind",),
        "relay.ir.variables": ("all_vars", "bound_vars", "free_vars"),
    },
)
