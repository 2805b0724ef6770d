"""From fused Relay to kernels: tensor expressions, a schedule, loops, code."""
