"""External compilers that come with Relay, and how a program is divided among compilers.

mod = relay.contrib.partition(mod, params, ["onnxruntime"])      what each of them takes, in order
mod, costs = relay.contrib.partition_by_cost(mod, params, …)     only where that is faster
mod = relay.contrib.take_back(mod)                               all of it is ours again
"""

from relay.contrib import onnxruntime as onnxruntime
from relay.contrib.division import Cost as Cost
from relay.contrib.division import Costs as Costs
from relay.contrib.division import partition as partition
from relay.contrib.division import partition_by_cost as partition_by_cost
from relay.external.divide import take_back as take_back
