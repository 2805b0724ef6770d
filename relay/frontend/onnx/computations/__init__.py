"""Computations that converters of several families are made of.

broadcast.py   operands whose names meet             stacking.py     lists as one tensor
narrowing.py   numbers as other types                quantization.py integers for real numbers
windows.py     windows that slide                    integer_products.py products of such integers
resampling.py  tensors between their elements        shares.py       softmax
attending.py   attention                             rotation.py     angles of places
standing_in.py operators that are others in one      derivatives.py  derivatives of what is computed
"""
