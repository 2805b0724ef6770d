"""The simulator against a model of each instruction in plain loops, on random programs."""

from dataclasses import replace

import numpy as np
import pytest

from relay.errors import EvaluationError
from relay.target.accel.config import Config
from relay.target.accel.isa import (
    Alu,
    AluOp,
    Finish,
    Gemm,
    Memory,
    Noop,
    Sync,
    Transfer,
    Unit,
    decode,
    encode,
    encode_uops,
)
from relay.target.accel.memory import Machine
from relay.target.accel.simulator import simulate
from tests.target.accel.streams import in_order, random_program

SMALL = Config(2, 4, 3, log_inp=7, log_wgt=7, log_acc=9, log_uop=7, queue=4, tokens=2)
SIZE = 1024


def run(config, program, dram):
    machine = Machine(config, len(dram))
    machine.dram[: len(dram)] = np.frombuffer(bytes(dram), np.uint8)
    return simulate(machine, program), machine.dram[: len(dram)].tobytes()


def test_random_programs_compute_what_the_model_says_whatever_anything_takes():
    chance = np.random.default_rng(0)
    for config in (SMALL, replace(SMALL, dram_latency=0, dram_bytes=512, queue=64, pipeline=0)):
        for _ in range(25):
            program, dram, expected = random_program(chance, config, SIZE, 40)
            done, found = run(config, decode(encode(in_order(program))), dram)
            assert found == expected
            assert done.cycles >= max(event.end for event in done.events) > 0


def test_what_is_out_of_range_or_was_never_written_is_an_error():
    chance = np.random.default_rng(1)
    refused = 0
    for _ in range(60):
        program, dram, expected = random_program(chance, SMALL, SIZE, 12, wild=0.3)
        if expected is None:
            refused += 1
            with pytest.raises(EvaluationError, match="accelerator"):
                run(SMALL, in_order(program), dram)
        else:
            assert run(SMALL, in_order(program), dram)[1] == expected
    assert 10 < refused < 60


def test_without_a_token_the_result_is_the_same_or_there_is_an_error():
    chance = np.random.default_rng(2)
    caught = agreed = 0
    for _ in range(120):
        program, dram, expected = random_program(chance, SMALL, SIZE, 25)
        program = in_order(program)
        linked = [n for n, one in enumerate(program) if one.sync.pop_prev or one.sync.pop_next]
        if not linked:
            continue
        at = int(chance.choice(linked))  # it and the one before it no longer know of each other
        up = program[at].sync.pop_prev
        taken = replace(program[at].sync, pop_prev=False, pop_next=False)
        program[at] = replace(program[at], sync=taken)
        given = program[at - 1].sync
        given = replace(given, push_next=False) if up else replace(given, push_prev=False)
        program[at - 1] = replace(program[at - 1], sync=given)
        try:
            found = run(SMALL, program, dram)[1]
        except EvaluationError as error:
            assert "may still be" in str(error) or "never written" in str(error)
            caught += 1
        else:
            assert found == expected
            agreed += 1
    assert caught > 10 and agreed > 10


def test_a_program_that_cannot_go_on_says_who_waits_for_what():
    wait = Noop(Unit.LOAD, Sync(pop_next=True))
    with pytest.raises(EvaluationError, match="LOAD waits at instruction 0 for a token of COMPUTE"):
        run(SMALL, [wait, Finish(Sync(pop_prev=True))], b"")
    # the queue of LOAD is full, so that COMPUTE never gets what LOAD waits for
    many = [replace(wait, sync=Sync())] * 5
    give = Noop(Unit.COMPUTE, Sync(push_prev=True))
    with pytest.raises(EvaluationError, match="waits for room in the queue of LOAD"):
        run(SMALL, [wait, *many, give, Finish()], b"")
    # the queue of tokens is full
    push = Noop(Unit.LOAD, Sync(push_next=True))
    with pytest.raises(EvaluationError, match="LOAD waits at instruction 2 for room for a token"):
        run(SMALL, [push, push, push, Finish()], b"")


def test_a_program_has_an_end_and_leaves_no_tokens():
    with pytest.raises(EvaluationError, match="ends with FINISH"):
        run(SMALL, [Noop(Unit.LOAD)], b"")
    with pytest.raises(EvaluationError, match="FINISH is the last instruction"):
        run(SMALL, [Finish(), Finish()], b"")
    with pytest.raises(EvaluationError, match="tokens left over"):
        run(SMALL, [Noop(Unit.LOAD, Sync(push_next=True)), Finish()], b"")
    with pytest.raises(EvaluationError, match="no unit before LOAD"):
        run(SMALL, [Noop(Unit.LOAD, Sync(pop_prev=True)), Finish()], b"")


def test_units_work_at_the_same_time():
    """Two loads and two products: the second load overlaps the first product."""
    config = Config()
    uops = encode_uops([(0, 0, 0)], config)
    dram = np.zeros(8192, np.uint8)
    dram[: len(uops)] = np.frombuffer(uops, np.uint8)
    ready = Sync(push_next=True)
    program = [
        Transfer(False, Memory.UOP, 0, 0, 1, 1, 1),
        Transfer(False, Memory.WGT, 0, 256, 1, 1, 1),
        Transfer(False, Memory.INP, 0, 1024, 1, 100, 100, sync=ready),
        Transfer(False, Memory.INP, 100, 4096, 1, 100, 100, sync=ready),
        Gemm(True, (0, 1), (1, 100), (0, 0, 0), (0, 1)),
        Gemm(False, (0, 1), (1, 100), (0, 0, 0), (0, 1), (0, 1), sync=Sync(pop_prev=True)),
        Gemm(False, (0, 1), (1, 100), (0, 100, 0), (0, 1), (0, 1), sync=Sync(pop_prev=True)),
        Finish(),
    ]
    done, _ = run(config, program, dram)
    at = {event.index: event for event in done.events}
    assert at[3].start < at[5].end and at[5].start < at[3].end
    assert at[2].end - at[2].start >= 64 + 100 * 16 / 8
    assert at[5].end - at[5].start == 100 + config.pipeline
    assert done.cycles == at[7].end


def test_instructions_and_micro_operations_are_bytes():
    program = in_order(random_program(np.random.default_rng(3), SMALL, SIZE, 30)[0])
    assert decode(encode(program)) == program
    assert len(encode(program)) == 32 * len(program)
    with pytest.raises(EvaluationError, match="no program for the accelerator"):
        decode(b"\x09" * 32)
    with pytest.raises(EvaluationError, match="a multiple of 32 bytes"):
        decode(b"\x05")
    with pytest.raises(EvaluationError, match="does not fit in 32 bytes"):
        encode([Gemm(True, (0, 70_000), (1, 1), (0, 0, 0), (0, 1))])
    with pytest.raises(EvaluationError, match="too large"):
        encode_uops([(1 << 11, 0, 0)], Config())


def test_sums_that_overflow_wrap_around():
    config = Config(1, 16, 16)
    uops = encode_uops([(0, 0, 0)], config)
    dram = np.zeros(256, np.uint8)
    dram[: len(uops)] = np.frombuffer(uops, np.uint8)
    dram[64:128] = np.frombuffer(np.full(16, 2**31 - 1, "<i4").tobytes(), np.uint8)
    program = [
        Transfer(False, Memory.UOP, 0, 0, 1, 1, 1),
        Transfer(False, Memory.ACC, 0, 64, 1, 1, 1),
        Alu(AluOp.ADD, (0, 1), (1, 1), (0, 0), (0, 0), immediate=1, sync=Sync(push_next=True)),
        Transfer(True, Memory.ACC, 0, 128, 1, 1, 1, sync=Sync(pop_prev=True)),
        Finish(),
    ]
    _, found = run(config, program, dram)
    assert np.frombuffer(found[128:192], "<i4").tolist() == [-(2**31)] * 16
