"""Small compiled programs, and the check that calls leave no objects."""

from tests.executors.conftest import add as add
from tests.executors.conftest import nothing_is_left as nothing_is_left
from tests.executors.conftest import reference as reference
from tests.executors.conftest import weighted as weighted
from tests.executors.conftest import weights as weights
