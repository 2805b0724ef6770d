"""Analyses of programs; none changes a program. One file, one subject."""

from relay.analysis import sparse_conv2d as sparse_conv2d
from relay.analysis import sparse_dense as sparse_dense
from relay.analysis.annotated_regions import AnnotatedRegion as AnnotatedRegion
from relay.analysis.annotated_regions import AnnotatedRegionSet as AnnotatedRegionSet
from relay.analysis.call_graph import CallGraph as CallGraph
from relay.analysis.constants import check_constant as check_constant
from relay.analysis.element_types import all_dtypes as all_dtypes
from relay.analysis.fake_quantized_ops import (
    list_fake_quantized_op_freqs as list_fake_quantized_op_freqs,
)
from relay.analysis.fc_transpose import search_fc_transpose as search_fc_transpose
from relay.analysis.features import Feature as Feature
from relay.analysis.features import detect_feature as detect_feature
from relay.analysis.fused_functions import extract_fused_functions as extract_fused_functions
from relay.analysis.intermediate import extract_intermdeiate_expr as extract_intermdeiate_expr
from relay.analysis.layers import count_layers as count_layers
from relay.analysis.lowerable import check_lowerable as check_lowerable
from relay.analysis.lowerable import lowerable_faults as lowerable_faults
from relay.analysis.mac_count import get_total_mac_number as get_total_mac_number
from relay.analysis.normal_forms import check_a_normal_form as check_a_normal_form
from relay.analysis.normal_forms import (
    check_basic_block_normal_form as check_basic_block_normal_form,
)
from relay.analysis.operations_distribution import (
    analyze_operations_distribution as analyze_operations_distribution,
)
from relay.analysis.operator_frequencies import list_op_freqs as list_op_freqs
from relay.analysis.purity import Effect as Effect
from relay.analysis.purity import Purity as Purity
from relay.analysis.type_variables import all_type_vars as all_type_vars
from relay.analysis.type_variables import bound_type_vars as bound_type_vars
from relay.analysis.type_variables import free_type_vars as free_type_vars
from relay.analysis.visiting import post_order_visit as post_order_visit
from relay.analysis.well_formed import well_formed as well_formed
from relay.check.exhaustive import unmatched_cases as unmatched_cases
from relay.check.kinds import check_kind as check_kind
from relay.ir.variables import all_vars as all_vars
from relay.ir.variables import bound_vars as bound_vars
from relay.ir.variables import free_vars as free_vars
