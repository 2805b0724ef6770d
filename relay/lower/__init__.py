"""Lowering of fused Relay to kernels: tensor expressions, schedule, loops, code."""
