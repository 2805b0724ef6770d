"""Analyses of programs; none changes a program. One file, one subject."""

from relay.analysis import sparse_conv2d, sparse_dense
from relay.analysis.annotated_regions import AnnotatedRegion, AnnotatedRegionSet
from relay.analysis.call_graph import CallGraph
from relay.analysis.constants import check_constant
from relay.analysis.element_types import all_dtypes
from relay.analysis.fake_quantized_ops import list_fake_quantized_op_freqs
from relay.analysis.fc_transpose import search_fc_transpose
from relay.analysis.features import Feature, detect_feature
from relay.analysis.fused_functions import extract_fused_functions
from relay.analysis.intermediate import extract_intermdeiate_expr
from relay.analysis.layers import count_layers
from relay.analysis.lowerable import check_lowerable, lowerable_faults
from relay.analysis.mac_count import get_total_mac_number
from relay.analysis.normal_forms import check_a_normal_form, check_basic_block_normal_form
from relay.analysis.operations_distribution import analyze_operations_distribution
from relay.analysis.operator_frequencies import list_op_freqs
from relay.analysis.purity import Effect, Purity
from relay.analysis.type_variables import all_type_vars, bound_type_vars, free_type_vars
from relay.analysis.visiting import post_order_visit
from relay.analysis.well_formed import well_formed
from relay.check.exhaustive import unmatched_cases
from relay.check.kinds import check_kind
from relay.ir.variables import all_vars, bound_vars, free_vars

__all__ = [
    "AnnotatedRegion",
    "AnnotatedRegionSet",
    "CallGraph",
    "Effect",
    "Feature",
    "Purity",
    "all_dtypes",
    "all_type_vars",
    "all_vars",
    "analyze_operations_distribution",
    "bound_type_vars",
    "bound_vars",
    "check_a_normal_form",
    "check_basic_block_normal_form",
    "check_constant",
    "check_kind",
    "check_lowerable",
    "count_layers",
    "detect_feature",
    "extract_fused_functions",
    "extract_intermdeiate_expr",
    "free_type_vars",
    "free_vars",
    "get_total_mac_number",
    "list_fake_quantized_op_freqs",
    "list_op_freqs",
    "lowerable_faults",
    "post_order_visit",
    "search_fc_transpose",
    "sparse_conv2d",
    "sparse_dense",
    "unmatched_cases",
    "well_formed",
]
