"""The CUDA target: NVIDIA GPUs, through kernels written in Triton."""
