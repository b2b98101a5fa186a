"""Errors of the simulation itself. Parts inside the simulation raise the errors of the real ones.

SimulationError(UmiError)
|-- Deadlock          every task waits and no timer is left
|-- BoundExceeded     more virtual time or more steps than the run allows
|-- Forbidden         a call that would leave the simulation: a socket, a thread, a signal, a real sleep
`-- InvalidFault(InvalidInput)   a fault registered for an operation where it cannot happen
"""

from __future__ import annotations

from umi.errors import InvalidInput, UmiError


class SimulationError(UmiError):
    """A run that cannot continue, or was set up wrongly."""

    code = "simulation_error"


class Deadlock(SimulationError):  # noqa: N818 - the established term
    """No callback is ready and no timer is left. The message names the waiting tasks, and of each the line where it waits."""

    code = "sim_deadlock"


class BoundExceeded(SimulationError):  # noqa: N818
    """The run took more virtual time or more steps than it was allowed. The message names the unfinished tasks as that of a `Deadlock`."""

    code = "sim_bound_exceeded"


class Forbidden(SimulationError, RuntimeError):  # noqa: N818
    """A call that would leave the simulation."""

    code = "sim_forbidden"


class InvalidFault(SimulationError, InvalidInput):  # noqa: N818
    """A fault's settings are invalid, or it was registered for an operation where it cannot happen."""

    code = "sim_invalid_fault"
