"""Computations that converters of several families share.

narrowing.py   conversions to narrow types           quantization.py scales and zero points
windows.py     sliding windows                       integer_products.py quantized products
resampling.py  interpolation                         softmax.py      softmax
attention.py   attention                             rotation.py     rotary embeddings
checking.py    run-time checks                       indices.py      checks of indices
standard.py    operators defined by standard ones    derivatives.py  gradients
"""
