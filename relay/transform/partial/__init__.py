"""Partial evaluation: computes at compile time what is known there, and leaves the rest."""
