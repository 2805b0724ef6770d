"""Work that was done before, kept on disk.

    cache = Cache.default()                             the user's, as the settings say
    objects = compile_cached(modules, target, cache)    cached, or compiled now

store.py      the folder of entries
objects.py    object code, by the text it is compiled from
kernels.py    kernels, by the primitive functions they are lowered from
worker.py     a process that makes kernels; process.py how it is started and asked
programs.py   straight-line programs, by the model they are compiled from
"""

from relay.cache.objects import compile_cached as compile_cached
from relay.cache.objects import key_of as key_of
from relay.cache.store import Cache as Cache
from relay.cache.store import Statistics as Statistics
