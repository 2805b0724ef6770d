"""The threads that share a parallel loop, as LLVM IR.

A loop over `extent` is cut into n shares, one for each thread that may take part:

    share w:  [extent * w / n, extent * (w + 1) / n)

Whoever runs share w is worker w. Share 0 is the caller's, share w is meant for thread w, so that
data stays in the caches of one core from loop to loop. But nobody waits for a thread that has not
begun: when the caller is done with its own share, it runs those that nobody has claimed. A thread
that sleeps, or has lost its core to another program, costs nothing but its help.

The pool's *word* holds a number that grows with every loop, its epoch, and in the low bits n; a
store of it starts a loop. The claim of share w is the epoch of the last loop in which it was taken;
claims only ever grow, so a thread that comes late finds its share taken. Where the claim is older
than the epoch a thread has seen, that loop cannot have ended, and what the pool says about it
holds. `pending` counts the shares of others that are not done; the caller waits for it to be 0.

A thread that finds nothing to do spins for a moment, then spins and yields, then sleeps until the
word changes (a futex under Linux, a condition variable elsewhere). It notes in `asleep` that it
does, so that starting a loop makes a system call only when one of its threads sleeps.

Where somebody watches the call (`relay.target.llvm.abi`), shares run in pieces of milliseconds.
Between two of them the thread that called asks whether to go on; if not, it leaves `INTERRUPTED` in
the context, and all threads end their shares where they are. A share that is done within a
millisecond is two pieces: its first iteration, and the rest. What runs in one thread runs the same
way. A loop that is short, or whose iterations are ordered, gives `-extent`: its shares are not
cut, and nobody is asked.

The pool belongs to one caller at a time. Who finds it taken, and that includes a parallel loop
inside a parallel loop, runs the whole loop itself: nobody ever waits for the pool.

Threads are started when a loop first wants them. They block signals, which are the main thread's.
"""

from __future__ import annotations

from typing import Final, Literal

from relay.executors.cores import MOST_THREADS
from relay.native.notation import assemble, system_functions
from relay.target.llvm import abi
from relay.target.llvm.target import LLVMTarget

WITHOUT_THREADS: Final = ("windows", "unknown", "none", "wasi")  # systems
Parking = Literal["futex", "condition", "serial"]

# Waiting, in nanoseconds. Within a network the next loop comes in microseconds; waking a sleeper
# takes from fifty to several hundred of them, so threads stay awake across the work between two
# loops, but soon let other programs have the core.
SPIN: Final = 20_000
AWAKE: Final = 1_000_000
CALLER_SPIN: Final = 20_000

# Pieces of shares, in nanoseconds. Asking takes microseconds, and may have to wait for Python.
SHORT_REST: Final = 1_000_000  # what will not take longer is not cut
SHORT_PIECE: Final = 1_000_000  # the next one is larger
LONG_PIECE: Final = 16_000_000  # the next one is smaller
BETWEEN_QUESTIONS: Final = 50_000_000

_PARTICIPANTS: Final = 0xFFF  # the bits of the word that say how many threads take part
_STOP: Final = _PARTICIPANTS  # as a number of threads: end

# Offsets into the pool. What the caller writes, what threads write back and what is hardly ever
# written lie on pairs of cache lines of their own, because processors fetch lines in pairs.
_FIELDS: Final = {
    "lock": 0,
    "started": 8,
    "initialized": 16,
    "word": 128,
    "body": 136,
    "closure": 144,
    "context": 152,
    "extent": 160,
    "pending": 256,
    "asleep": 384,  # a bit for every worker
    "mutex": 512,
    "condition": 640,
    "workers": 768,  # per worker: its claim, the word when it was started, its handle
}
_WORKER_SIZE: Final = 64
_SIZE: Final = _FIELDS["workers"] + _WORKER_SIZE * MOST_THREADS


# What stops a core for a moment: `isb` stops an ARM core about as long as `pause` an x86 one; its
# `yield` does nothing.
_RELAX: Final = {
    "x86_64": "@llvm.x86.sse2.pause()",
    "aarch64": "@llvm.aarch64.isb(i32 15)",
    "arm": "@llvm.arm.isb(i32 15)",
}
_PLAIN_ARITHMETIC: Final = {
    "aarch64": "  call void @llvm.aarch64.set.fpcr(i64 0)",
    "arm": "  call void @llvm.arm.set.fpscr(i32 0)",
}


def parking(target: LLVMTarget) -> Parking:
    """How threads sleep on `target`; where there are no POSIX threads, loops run in the caller."""
    if target.system == "linux":
        return "futex"
    return "serial" if target.system in WITHOUT_THREADS else "condition"


def text(target: LLVMTarget, how: Parking | None = None) -> str:
    """`relay_parallel`, `relay_look`, `relay_pool_stop` and `relay_pool_reset` for `target`."""
    how = how or parking(target)
    if how == "serial":
        return assemble(_SERIAL, {})
    sleeping = _FUTEX if how == "futex" else _CONDITION_VARIABLE
    parts = (CLOCK, _DECLARATIONS, _PIECES, _PARALLEL, _WORKER, _GROW, _STOPPING, sleeping)
    return assemble("".join(parts), _names(target))


def imports(target: LLVMTarget, how: Parking | None = None) -> frozenset[str]:
    """The system functions that the code calls."""
    return system_functions(text(target, how))


def _names(target: LLVMTarget) -> dict[str, object]:
    """The names in the code: fields of the pool, numbers of the system."""
    linux = target.system == "linux"
    return {
        **{k: f"getelementptr (i8, ptr @relay_pool, i64 {v})" for k, v in _FIELDS.items()},
        "size": _SIZE,
        "asleep_words": MOST_THREADS // 64,
        "most": MOST_THREADS,
        "threads_offset": abi.THREADS,
        "participants": _PARTICIPANTS,
        "epoch": _PARTICIPANTS + 1,
        "stop": _STOP,
        "spin": SPIN,
        "awake": AWAKE,
        "caller_spin": CALLER_SPIN,
        "relax": f"call void {_RELAX[target.arch]}" if target.arch in _RELAX else "",
        "plain_arithmetic": plain_arithmetic(target),
        "error": abi.ERROR,
        "watch": abi.WATCH,
        "asked": abi.ASKED,
        "thread": abi.THREAD,
        "interrupted": abi.INTERRUPTED,
        "short_rest": SHORT_REST,
        "short_piece": SHORT_PIECE,
        "long_piece": LONG_PIECE,
        "between": BETWEEN_QUESTIONS,
        "many": 1 << 38,  # times nanoseconds: still in 64 bits
        "futex": {"x86_64": 202, "arm": 240}.get(target.arch, 98),
        "wait_bitset": 9 | 128,  # with a set of bits, within one process
        "wake_bitset": 10 | 128,
        "monotonic": 1 if linux else 6,
        "set_mask": 2 if linux else 3,
        "bus_error": 7 if linux else 10,
    }


def plain_arithmetic(target: LLVMTarget) -> str:
    """Instructions after which floats round to nearest, and denormals are kept."""
    if target.arch != "x86_64":
        return _PLAIN_ARITHMETIC.get(target.arch, "")
    return (
        "  %control = alloca i32\n"
        "  store i32 8064, ptr %control\n"  # the processor's own default: exceptions masked
        "  call void @llvm.x86.sse.ldmxcsr(ptr %control)"
    )


# --- the code ----------------------------------------------------------------------------------

_SERIAL: Final = """\
define void @relay_parallel(ptr %context, ptr %body, ptr %closure, i64 %extent) nounwind {
  br eq ptr %body, null, label %done, label %work
work:
  %whole = call i64 @llvm.abs.i64(i64 %extent, i1 true)
  call void %body(ptr %context, ptr %closure, i64 0, i64 %whole, i64 0)
  br label %done
done:
  ret void
}
define i32 @relay_pool_stop() nounwind {
  ret i32 0
}
define void @relay_pool_reset() nounwind {
  ret void
}
define void @relay_look(ptr %context) nounwind {
  ret void
}
"""

CLOCK: Final = """
declare i32 @clock_gettime(i32, ptr)

define internal i64 @relay_now() nounwind {
  %time = alloca [2 x i64]
  %status = call i32 @clock_gettime(i32 $monotonic, ptr %time)
  %seconds = load i64, ptr %time
  %nanoseconds = load i64, ptr %time[i64 1]
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %nanoseconds
  ret i64 %now
}
"""

_DECLARATIONS: Final = """\
@relay_pool = internal global [$size x i8] zeroinitializer, align 128

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i64 @pthread_self()
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sigdelset(ptr, i32)
declare i32 @sched_yield()

define internal i64 @relay_next_word(i64 %count) alwaysinline nounwind {
  %word = load atomic i64, ptr $word monotonic, align 8
  %epoch = and i64 %word, -$epoch
  %next = add i64 %epoch, $epoch
  %full = or i64 %next, %count
  ret i64 %full
}

; Take share `worker` of the loop that began with `word`; false when somebody has.
define internal i1 @relay_claim(i64 %worker, i64 %word) alwaysinline nounwind {
entry:
  %claim.at = getelementptr [8 x i64], ptr $workers, i64 %worker
  %claim = load atomic i64, ptr %claim.at monotonic, align 8
  br ult i64 %claim, %word, label %take, label %taken
take:
  %swap = cmpxchg ptr %claim.at, i64 %claim, i64 %word acq_rel monotonic
  %ours = extractvalue { i64, i1 } %swap, 1
  ret i1 %ours
taken:
  ret i1 false
}

; Run share `worker` of the current loop, which has been claimed.
define internal void @relay_share(i64 %worker, i64 %count) nounwind {
  %body = load ptr, ptr $body
  %closure = load ptr, ptr $closure
  %context = load ptr, ptr $context
  %given = load i64, ptr $extent
  %extent = call i64 @llvm.abs.i64(i64 %given, i1 true)
  %next = add i64 %worker, 1
  %begin.scaled = mul i64 %extent, %worker
  %end.scaled = mul i64 %extent, %next
  %begin = udiv i64 %begin.scaled, %count
  %end = udiv i64 %end.scaled, %count
  %cut = icmp sgt i64 %given, 0
  call void @relay_pieces(ptr %context, ptr %body, ptr %closure, i64 %begin, i64 %end, i64 %worker,
                          i1 %cut)
  %left = atomicrmw sub ptr $pending, i64 1 release
  ret void
}
"""

_PIECES: Final = """
; Ask the watch of a call, if this is its thread and the last time is long ago.
define internal void @relay_ask(ptr %context, ptr %watch, i64 %now) nounwind {
entry:
  %thread = load i64, ptr %watch[$thread]
  %self = call i64 @pthread_self()
  br eq i64 %thread, %self, label %when, label %done
when:
  %asked = load i64, ptr %watch[$asked]
  %since = sub i64 %now, %asked
  br ult i64 %since, $between, label %done, label %ask
ask:
  %function = load ptr, ptr %watch
  %answer = call i32 %function(ptr %context)
  %after = call i64 @relay_now()
  store i64 %after, ptr %watch[$asked]
  br ne i32 %answer, 0, label %end, label %done
end:
  %error.at = getelementptr i8, ptr %context, i64 $error
  store atomic i64 $interrupted, ptr %error.at monotonic, align 8
  br label %done
done:
  ret void
}

define void @relay_look(ptr %context) nounwind {
entry:
  %watch = load ptr, ptr %context[$watch]
  br eq ptr %watch, null, label %done, label %look
look:
  %now = call i64 @relay_now()
  call void @relay_ask(ptr %context, ptr %watch, i64 %now)
  br label %done
done:
  ret void
}

define internal void @relay_pieces(ptr %context, ptr %body, ptr %closure, i64 %begin, i64 %end,
                                   i64 %worker, i1 %cut) nounwind {
entry:
  %watch = load ptr, ptr %context[$watch]
  %nobody = icmp eq ptr %watch, null
  %length = sub i64 %end, %begin
  %single = icmp sle i64 %length, 1
  %not.cut = xor i1 %cut, true
  %unasked = or i1 %nobody, %not.cut
  %whole = or i1 %unasked, %single
  br i1 %whole, label %all, label %pieces
all:
  call void %body(ptr %context, ptr %closure, i64 %begin, i64 %end, i64 %worker)
  ret void
pieces:
  %error.at = getelementptr i8, ptr %context, i64 $error
  %start = call i64 @relay_now()
  br label %piece
piece:
  %from = phi i64 [ %begin, %pieces ], [ %to, %next ]
  %count = phi i64 [ 1, %pieces ], [ %count.next, %next ]
  %before = phi i64 [ %start, %pieces ], [ %now, %next ]
  %left = sub i64 %end, %from
  %fitting = call i64 @llvm.smin.i64(i64 %count, i64 %left)
  %to = add i64 %from, %fitting
  call void %body(ptr %context, ptr %closure, i64 %from, i64 %to, i64 %worker)
  br slt i64 %to, %end, label %look, label %done
look:
  %now = call i64 @relay_now()
  call void @relay_ask(ptr %context, ptr %watch, i64 %now)
  %error = load atomic i64, ptr %error.at monotonic, align 8
  br ne i64 %error, 0, label %done, label %next
next:
  %took = sub i64 %now, %before
  %rest = sub i64 %end, %to
  %took.bounded = call i64 @llvm.umin.i64(i64 %took, i64 $long_piece)
  %rest.bounded = call i64 @llvm.umin.i64(i64 %rest, i64 $many)
  %count.bounded = call i64 @llvm.umin.i64(i64 %fitting, i64 $many)
  %expected = mul i64 %took.bounded, %rest.bounded
  %allowed = mul i64 %count.bounded, $short_rest
  %at.once = icmp ule i64 %expected, %allowed
  %quick = icmp ult i64 %took, $short_piece
  %slow = icmp ugt i64 %took, $long_piece
  %larger = shl i64 %fitting, 3
  %half = lshr i64 %fitting, 1
  %smaller = call i64 @llvm.umax.i64(i64 %half, i64 1)
  %shrunk = select i1 %slow, i64 %smaller, i64 %fitting
  %adapted = select i1 %quick, i64 %larger, i64 %shrunk
  %count.next = select i1 %at.once, i64 %rest, i64 %adapted
  br label %piece
done:
  ret void
}
"""

_PARALLEL: Final = """
define void @relay_parallel(ptr %context, ptr %body, ptr %closure, i64 %given) nounwind {
entry:
  %extent = call i64 @llvm.abs.i64(i64 %given, i1 true)
  %cut = icmp sgt i64 %given, 0
  %since = alloca i64
  %looks = alloca i32
  %threads = load i64, ptr %context[$threads_offset]
  %useful = call i64 @llvm.smin.i64(i64 %threads, i64 %extent)
  %wanted = call i64 @llvm.smin.i64(i64 %useful, i64 $most)
  br sgt i64 %wanted, 1, label %try, label %alone
try:
  %taken = cmpxchg ptr $lock, i32 0, i32 1 acquire monotonic
  %ours = extractvalue { i32, i1 } %taken, 1
  br i1 %ours, label %locked, label %alone
locked:
  %started = load i64, ptr $started
  %others = sub i64 %wanted, 1
  br sge i64 %started, %others, label %begin, label %grow
grow:
  %grown = call i64 @relay_grow(i64 %others)
  %all = add i64 %grown, 1
  %fewer = call i64 @llvm.smin.i64(i64 %wanted, i64 %all)
  br sgt i64 %fewer, 1, label %begin, label %unlock
unlock:
  store atomic i32 0, ptr $lock release, align 4
  br label %alone
alone:
  br eq ptr %body, null, label %look, label %work
work:
  call void @relay_pieces(ptr %context, ptr %body, ptr %closure, i64 0, i64 %extent, i64 0,
                          i1 %cut)
  br i1 %cut, label %look, label %end
look:
  call void @relay_look(ptr %context)
  ret void
end:
  ret void

begin:
  %count = phi i64 [ %wanted, %locked ], [ %fewer, %grow ]
  store ptr %body, ptr $body
  store ptr %closure, ptr $closure
  store ptr %context, ptr $context
  store i64 %given, ptr $extent
  %last = sub i64 %count, 1
  store atomic i64 %last, ptr $pending monotonic, align 8
  %word = call i64 @relay_next_word(i64 %count)
  store atomic i64 %word, ptr $word seq_cst, align 8
  br label %sleepers

sleepers:                                ; is one of our threads asleep?
  %row = phi i64 [ 0, %begin ], [ %row.next, %sleepers.more ]
  %wake.before = phi i1 [ false, %begin ], [ %wake, %sleepers.more ]
  %row.at = getelementptr i64, ptr $asleep, i64 %row
  %bits = load atomic i64, ptr %row.at seq_cst, align 8
  %last.row = lshr i64 %last, 6
  %final = icmp eq i64 %row, %last.row
  %last.bit = and i64 %last, 63
  %unused = sub i64 63, %last.bit
  %ours.last = lshr i64 -1, %unused
  %mask = select i1 %final, i64 %ours.last, i64 -1
  %asleep = and i64 %bits, %mask
  br eq i64 %asleep, 0, label %sleepers.more, label %found
found:                                   ; woken once is enough, however long it takes
  %others.bits = xor i64 %asleep, -1
  %cleared = atomicrmw and ptr %row.at, i64 %others.bits seq_cst
  br label %sleepers.more
sleepers.more:
  %wake = phi i1 [ %wake.before, %sleepers ], [ true, %found ]
  %row.next = add i64 %row, 1
  br i1 %final, label %sleepers.all, label %sleepers
sleepers.all:
  br i1 %wake, label %wake.them, label %share
wake.them:
  call void @relay_wake(i64 %count)
  br label %share

share:
  %first.end = udiv i64 %extent, %count
  call void @relay_pieces(ptr %context, ptr %body, ptr %closure, i64 0, i64 %first.end, i64 0,
                          i1 %cut)
  store i64 0, ptr %since
  store i32 0, ptr %looks
  br label %wait
wait:
  %pending = load atomic i64, ptr $pending acquire, align 8
  br eq i64 %pending, 0, label %done, label %pause
pause:
  $relax
  %looks.old = load i32, ptr %looks
  %looks.new = add i32 %looks.old, 1
  store i32 %looks.new, ptr %looks
  %low = and i32 %looks.new, 31
  br eq i32 %low, 0, label %help, label %wait

help:                                    ; run what nobody has begun
  br eq i32 %looks.new, 32, label %next, label %clock
next:
  %worker = phi i64 [ 1, %help ], [ %worker.next, %next.more ]
  %claimed = call i1 @relay_claim(i64 %worker, i64 %word)
  br i1 %claimed, label %stand.in, label %next.more
stand.in:
  call void @relay_share(i64 %worker, i64 %count)
  br label %next.more
next.more:
  %worker.next = add i64 %worker, 1
  br slt i64 %worker.next, %count, label %next, label %wait

clock:                                   ; the rest has been begun by others
  %now = call i64 @relay_now()
  %since.old = load i64, ptr %since
  %unset = icmp eq i64 %since.old, 0
  %since.new = select i1 %unset, i64 %now, i64 %since.old
  store i64 %since.new, ptr %since
  %waited = sub i64 %now, %since.new
  br sgt i64 %waited, $caller_spin, label %yield, label %wait
yield:                                   ; this core may be what they are waiting for
  %yielded = call i32 @sched_yield()
  call void @relay_look(ptr %context)
  br label %wait
done:
  store atomic i32 0, ptr $lock release, align 4
  br i1 %cut, label %look, label %end
}
"""

_WORKER: Final = """
define internal ptr @relay_worker(ptr %argument) nounwind {
entry:
  %seen = alloca i64
  %since = alloca i64
  %looks = alloca i32
$plain_arithmetic
  %worker = ptrtoint ptr %argument to i64
  %own = getelementptr [8 x i64], ptr $workers, i64 %worker
  %first = load i64, ptr %own[i64 1]
  store i64 %first, ptr %seen
  store i64 0, ptr %since
  store i32 0, ptr %looks
  br label %look
look:
  %word = load atomic i64, ptr $word acquire, align 8
  %old = load i64, ptr %seen
  br eq i64 %word, %old, label %pause, label %changed
changed:
  store i64 %word, ptr %seen
  %count = and i64 %word, $participants
  br eq i64 %count, $stop, label %leave, label %started
started:
  br ult i64 %worker, %count, label %claim, label %look
claim:
  %claimed = call i1 @relay_claim(i64 %worker, i64 %word)
  br i1 %claimed, label %work, label %worked
work:
  call void @relay_share(i64 %worker, i64 %count)
  br label %worked
worked:
  store i64 0, ptr %since
  store i32 0, ptr %looks
  br label %look

pause:
  $relax
  %looks.old = load i32, ptr %looks
  %looks.new = add i32 %looks.old, 1
  store i32 %looks.new, ptr %looks
  %low = and i32 %looks.new, 31
  br eq i32 %low, 0, label %clock, label %look
clock:                                   ; how long since there was something to do?
  %now = call i64 @relay_now()
  %since.old = load i64, ptr %since
  %unset = icmp eq i64 %since.old, 0
  %since.new = select i1 %unset, i64 %now, i64 %since.old
  store i64 %since.new, ptr %since
  %waited = sub i64 %now, %since.new
  br slt i64 %waited, $spin, label %look, label %longer
longer:
  br slt i64 %waited, $awake, label %yield, label %sleep
yield:
  %yielded = call i32 @sched_yield()
  br label %look
sleep:
  %row = lshr i64 %worker, 6
  %row.at = getelementptr i64, ptr $asleep, i64 %row
  %position = and i64 %worker, 63
  %bit = shl i64 1, %position
  %others = xor i64 %bit, -1
  %asleep = atomicrmw or ptr %row.at, i64 %bit seq_cst
  call void @relay_sleep(i64 %old, i64 %worker)
  %awake = atomicrmw and ptr %row.at, i64 %others seq_cst
  br label %look
leave:
  ret ptr null
}
"""

_GROW: Final = """
define internal i64 @relay_grow(i64 %wanted) nounwind noinline {
entry:
  %none = alloca [16 x i64]
  %before = alloca [16 x i64]
  call void @relay_prepare()
  ; a new thread inherits the mask; faults in our code stay visible
  %filled = call i32 @sigfillset(ptr %none)
  %illegal = call i32 @sigdelset(ptr %none, i32 4)
  %bus = call i32 @sigdelset(ptr %none, i32 $bus_error)
  %arithmetic = call i32 @sigdelset(ptr %none, i32 8)
  %segment = call i32 @sigdelset(ptr %none, i32 11)
  %masked = call i32 @pthread_sigmask(i32 $set_mask, ptr %none, ptr %before)
  ; it waits for a change of the word as it is now, not as it will be when the thread runs
  %word = load atomic i64, ptr $word monotonic, align 8
  br label %loop
loop:
  %started = load i64, ptr $started
  br slt i64 %started, %wanted, label %create, label %done
create:
  %worker = add i64 %started, 1
  %argument = inttoptr i64 %worker to ptr
  %own = getelementptr [8 x i64], ptr $workers, i64 %worker
  store i64 %word, ptr %own[i64 1]
  %status = call i32 @pthread_create(ptr %own[i64 2], ptr null, ptr @relay_worker, ptr %argument)
  br eq i32 %status, 0, label %count, label %done
count:
  store i64 %worker, ptr $started
  br label %loop
done:
  %restored = call i32 @pthread_sigmask(i32 $set_mask, ptr %before, ptr null)
  ret i64 %started
}
"""

_STOPPING: Final = """
; End all threads and wait for them; 1 when a loop is running.
define i32 @relay_pool_stop() nounwind {
entry:
  %taken = cmpxchg ptr $lock, i32 0, i32 1 acquire monotonic
  %ours = extractvalue { i32, i1 } %taken, 1
  br i1 %ours, label %locked, label %busy
busy:
  ret i32 1
locked:
  %started = load i64, ptr $started
  br sgt i64 %started, 0, label %end, label %done
end:
  %word = call i64 @relay_next_word(i64 $stop)
  store atomic i64 %word, ptr $word seq_cst, align 8
  call void @relay_wake(i64 $most)
  br label %loop
loop:
  %worker = phi i64 [ 1, %end ], [ %next, %loop ]
  %own = getelementptr [8 x i64], ptr $workers, i64 %worker
  %handle = load i64, ptr %own[i64 2]
  %joined = call i32 @pthread_join(i64 %handle, ptr null)
  %next = add i64 %worker, 1
  br sle i64 %next, %started, label %loop, label %done
done:
  store i64 0, ptr $started
  store atomic i32 0, ptr $lock release, align 4
  ret i32 0
}

; After a fork no thread of the pool exists in the new process.
define void @relay_pool_reset() nounwind {
  store i64 0, ptr $started
  store i64 0, ptr $initialized
  store atomic i64 0, ptr $pending monotonic, align 8
  store [$asleep_words x i64] zeroinitializer, ptr $asleep
  store atomic i32 0, ptr $lock release, align 4
  ret void
}
"""

_FUTEX: Final = """
declare i64 @syscall(i64, ...)

define internal void @relay_prepare() nounwind {
  ret void
}

; A futex looks at 32 bits: the lower half of the word.
define internal void @relay_sleep(i64 %seen, i64 %worker) nounwind noinline {
  %half = trunc i64 %seen to i32
  %narrow = trunc i64 %worker to i32
  %position = and i32 %narrow, 31
  %bits = shl i32 1, %position
  %status = call i64 (i64, ...) @syscall(i64 $futex, ptr $word, i32 $wait_bitset, i32 %half,
                                         ptr null, ptr null, i32 %bits)
  ret void
}

; Wake the threads below `count`; a bit stands for every 32nd of them.
define internal void @relay_wake(i64 %count) nounwind noinline {
  %narrow = trunc i64 %count to i32
  %all = icmp ugt i32 %narrow, 31
  %shift = and i32 %narrow, 31
  %power = shl i32 1, %shift
  %few = sub i32 %power, 1
  %bits = select i1 %all, i32 -1, i32 %few
  %status = call i64 (i64, ...) @syscall(i64 $futex, ptr $word, i32 $wake_bitset, i32 2147483647,
                                         ptr null, ptr null, i32 %bits)
  ret void
}
"""

_CONDITION_VARIABLE: Final = """
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

define internal void @relay_prepare() nounwind {
  %before = load i64, ptr $initialized
  br ne i64 %before, 0, label %done, label %first
first:
  %mutex = call i32 @pthread_mutex_init(ptr $mutex, ptr null)
  %condition = call i32 @pthread_cond_init(ptr $condition, ptr null)
  store i64 1, ptr $initialized
  br label %done
done:
  ret void
}

define internal void @relay_sleep(i64 %seen, i64 %worker) nounwind noinline {
  %locked = call i32 @pthread_mutex_lock(ptr $mutex)
  br label %look
look:
  %word = load atomic i64, ptr $word seq_cst, align 8
  br eq i64 %word, %seen, label %wait, label %done
wait:
  %waited = call i32 @pthread_cond_wait(ptr $condition, ptr $mutex)
  br label %look
done:
  %unlocked = call i32 @pthread_mutex_unlock(ptr $mutex)
  ret void
}

define internal void @relay_wake(i64 %count) nounwind noinline {
  %locked = call i32 @pthread_mutex_lock(ptr $mutex)
  %woken = call i32 @pthread_cond_broadcast(ptr $condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr $mutex)
  ret void
}
"""
