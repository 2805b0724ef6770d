"""Cores are counted, not hardware threads, and no more than the process may use."""

import os

import pytest

from relay.executors import cores


@pytest.fixture
def machine(monkeypatch):
    """A machine of four cores with two hardware threads each."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(cores, "_siblings", lambda cpu: f"{cpu % 4},{cpu % 4 + 4}")
    monkeypatch.setattr(cores, "_quota", lambda: None)
    return monkeypatch


def test_two_hardware_threads_are_one_core(machine):
    assert cores.usable_cores() == 4


def test_a_process_that_may_use_few_uses_few(machine):
    machine.setattr(os, "sched_getaffinity", lambda _: {1, 5, 6})
    assert cores.usable_cores() == 2


def test_a_container_may_have_less_time_than_the_machine_has_cores(machine):
    machine.setattr(cores, "_quota", lambda: 2)
    assert cores.usable_cores() == 2


def test_where_nothing_is_known_all_processors_count(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(cores, "_quota", lambda: None)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores.usable_cores() == 1
