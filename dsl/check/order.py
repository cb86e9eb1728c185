"""How many steps back a statement looks along each axis, as it is written."""

from ..text.syntax import Binder, Target
from .references import Mention, Offset, read_offset


def lags_of(target: Target, mention: Mention) -> tuple[int | None, ...]:
    if mention.indices is None:
        return ()
    return tuple(
        _lag(index, read_offset(used))
        for index, used in zip(target.indices, mention.indices, strict=False)
    )


def _lag(index: object, used: Offset | None) -> int | None:
    if used is None:
        return None
    if isinstance(index, Binder):
        if used.binder == index.name.name:
            return -used.value
        low = index.range.low.value if index.range.low else 0
        is_earlier = used.binder is None and isinstance(low, int) and low > used.value
        return int(low) - used.value if is_earlier else None
    fixed = read_offset(index)  # type: ignore[arg-type]
    if fixed is None or fixed.binder is not None or used.binder is not None:
        return None
    return fixed.value - used.value
