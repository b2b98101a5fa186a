"""Budget of tokens and money for model calls: reserved before a call, settled after it."""

from __future__ import annotations

from dataclasses import dataclass

from umi.errors import LLMError

Price = tuple[float, float]  # per million input tokens, per million output tokens; any currency


@dataclass(frozen=True, slots=True)
class Allowance:
    """Limits of an `Asker`.

    Args:
        call_timeout_s: Seconds that one call may take.
        token_budget: Tokens that all calls together may use; None is unlimited.
        money_budget: What all calls together may cost, in the currency of the price; None is unlimited.
        price_per_million: Price of a million input and of a million output tokens.
    """

    call_timeout_s: float
    token_budget: int | None = None
    money_budget: float | None = None
    price_per_million: Price = (0.0, 0.0)


class Budget:
    """What is left of an allowance; a prompt is paid before it is sent, so that concurrent calls do not overspend."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._sent = self._got = 0  # tokens, reserved ones included

    def reserve(self, tokens: int) -> None:
        """Reserve the cost of a prompt of about so many tokens.

        Raises:
            LLMError.BudgetExceeded: When not enough is left.
        """
        most, purse = self._allowance.token_budget, self._allowance.money_budget
        if most is not None and tokens > (left := most - self._sent - self._got):
            raise LLMError.BudgetExceeded(
                f"the prompt needs about {tokens} tokens, {max(0, left)} are left of Config.token_budget"
            )
        cost = self._cost(tokens, 0)
        # With a price of 0 for input, an exhausted budget must stop calls all the same.
        if purse is not None and (cost > (money := purse - self._cost(self._sent, self._got)) or money <= 0):
            raise LLMError.BudgetExceeded(
                f"the prompt costs about {cost:.6f}, {max(0.0, money):.6f} are left of Config.money_budget"
            )
        self._sent += tokens

    def give_back(self, tokens: int) -> None:
        """Return a reservation, when the call failed and will not be billed."""
        self._sent -= tokens

    def settle(self, reserved: int, sent: int, got: int) -> None:
        """Replace a reservation by what the call used.

        Args:
            reserved: Tokens reserved for the prompt.
            sent: Input tokens used.
            got: Output tokens used.
        """
        self._sent += sent - reserved
        self._got += got

    def _cost(self, sent: int, got: int) -> float:
        price = self._allowance.price_per_million
        return (sent * price[0] + got * price[1]) / 1e6
