"""scikit-learn's handwritten digits as the truth values that models/digits.dp describes:
out/digits.npz.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

OUT = Path(__file__).parent.parent / "out" / "digits.npz"


def main() -> None:
    """Ink is in steps of 16; half of it is a mark."""
    OUT.parent.mkdir(exist_ok=True)
    np.savez(OUT, x=load_digits().data >= 8)
    print(f"{OUT.name} is in {OUT.parent.name}/")


if __name__ == "__main__":
    main()
