"""Whole programs on a GPU: control flow runs in native code of the host, which launches kernels.

stubs.py       what is called in place of a kernel: it launches it, or runs it on the host
runtime.py     the functions that stubs and the allocator call, over the driver's own
record.py      the record of a device that a context of native code has (`relay.native.device`)
compile.py     programs to object code
executable.py  the executable

Tensors lie in memory of the device, also those in data, closures and cells; scalars and sizes are
those of the host. Scalars reach kernels in memory that both address. The host waits where a kernel
computes a scalar, where an element of a tensor is read, and for results.
"""
