"""Instruments of passes, which are in `relay.transform`."""

from relay.transform import PassInstrument as PassInstrument
from relay.transform import PassPrintingInstrument as PassPrintingInstrument
from relay.transform import PassTimingInstrument as PassTimingInstrument
from relay.transform import PrintAfterAll as PrintAfterAll
from relay.transform import PrintBeforeAll as PrintBeforeAll
from relay.transform import pass_instrument as pass_instrument
