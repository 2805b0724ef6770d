"""After every call of a native program its objects are gone."""

from tests.executors.conftest import nothing_is_left as nothing_is_left
