"""Tensor expressions (what to compute), schedules (how) and loop nests (the result).

from relay import te

x = te.placeholder((128, 64), "float32", "x")
k = te.axis(64)
y = te.compute((128,), lambda i: te.sum(x[i, k], k))
"""

from relay.te.compute import Computation as Computation
from relay.te.compute import Placeholder as Placeholder
from relay.te.compute import Procedure as Procedure
from relay.te.compute import Spec as Spec
from relay.te.compute import Tensor as Tensor
from relay.te.compute import compute as compute
from relay.te.compute import compute_many as compute_many
from relay.te.compute import numbers as numbers
from relay.te.compute import placeholder as placeholder
from relay.te.compute import procedure as procedure
from relay.te.expr import Axis as Axis
from relay.te.expr import Combiner as Combiner
from relay.te.expr import Const as Const
from relay.te.expr import Expr as Expr
from relay.te.expr import Extent as Extent
from relay.te.expr import Read as Read
from relay.te.expr import Reduce as Reduce
from relay.te.expr import Scalar as Scalar
from relay.te.expr import Var as Var
from relay.te.expr import absolute as absolute
from relay.te.expr import axis as axis
from relay.te.expr import bitcast as bitcast
from relay.te.expr import call as call
from relay.te.expr import cast as cast
from relay.te.expr import const as const
from relay.te.expr import equal as equal
from relay.te.expr import every as every
from relay.te.expr import index as index
from relay.te.expr import maximum as maximum
from relay.te.expr import minimum as minimum
from relay.te.expr import not_equal as not_equal
from relay.te.expr import select as select
from relay.te.expr import some as some
from relay.te.expr import truncdiv as truncdiv
from relay.te.expr import truncmod as truncmod
from relay.te.expr import width as width
from relay.te.loops import Buffer as Buffer
from relay.te.loops import Builder as Builder
from relay.te.reduction import all as all
from relay.te.reduction import any as any
from relay.te.reduction import argmax as argmax
from relay.te.reduction import argmin as argmin
from relay.te.reduction import highest as highest
from relay.te.reduction import lowest as lowest
from relay.te.reduction import max as max
from relay.te.reduction import min as min
from relay.te.reduction import product as product
from relay.te.reduction import reduce as reduce
from relay.te.reduction import sum as sum
