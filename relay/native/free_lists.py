"""What the allocators of the heap and of devices share: free lists by size class, and a limit.

Each function is text for a function of the runtime (`notation.py`), with `%class` as the class.
"""

from __future__ import annotations


def within_limit(head: str, taken: str, ask: str, trim: str) -> str:
    """A function that allocates `%bytes`, or returns null: where the limit of the context or the
    system refuses, it frees unused blocks by `trim` and tries again. `ask` defines `%memory`;
    `taken` is the operand of the bytes that are allocated."""
    return f"""
define internal ptr {head} noinline cold nounwind {{
entry:
  %limit = load i64, ptr %context[$limit]
  %limited = icmp ne i64 %limit, 0
  br label %attempt
attempt:
  %again = phi i1 [ false, %entry ], [ true, %trim ]
  %taken = load i64, ptr {taken}
  %total = add i64 %taken, %bytes
  %past = icmp ugt i64 %total, %limit
  %refused = and i1 %limited, %past
  br i1 %refused, label %failed, label %ask
ask:
  {ask}
  br eq ptr %memory, null, label %failed, label %done
failed:
  br i1 %again, label %give.up, label %trim
trim:
  {trim}
  br label %attempt
done:
  store i64 %total, ptr {taken}
  ret ptr %memory
give.up:
  ret ptr null
}}
"""


def first(lists: str, of: str) -> str:
    """`%list`, the free list of the class among the `lists` of an object, and its `%first`."""
    return f"""
  %lists = getelementptr i8, ptr {of}, i64 ${lists}
  %list = getelementptr ptr, ptr %lists, i64 %class
  %first = load ptr, ptr %list"""


def take(lists: str, of: str, link: str, otherwise: str) -> str:
    """Removes `%first` from a free list, in block `take`; where it is empty, to `otherwise`."""
    return f"""{first(lists, of)}
  br eq ptr %first, null, label %{otherwise}, label %take
take:
  %next = load ptr, ptr %first{link}
  store ptr %next, ptr %list"""


def put(piece: str, lists: str, of: str, link: str) -> str:
    """Puts a piece of memory into a free list."""
    return f"""{first(lists, of)}
  store ptr %first, ptr {piece}{link}
  store ptr {piece}, ptr %list"""
