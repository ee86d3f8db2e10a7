"""Run benchmarks: all of them, or those named.

make bench                       # all, one after the other
python -m tests.bench sampling   # bench_sampling alone
"""

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """The number of benchmarks that failed."""
    known = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
    asked = [f"bench_{name.removeprefix('bench_')}" for name in sys.argv[1:]] or known
    if unknown := sorted(set(asked) - set(known)):
        names = ", ".join(name.removeprefix("bench_") for name in known)
        sys.exit(f"There is no {', '.join(unknown)}. There are: {names}.")
    failed = 0
    for name in asked:
        print(f"== {name}", flush=True)
        failed += bool(subprocess.run([sys.executable, "-m", f"tests.bench.{name}"]).returncode)
    return failed


if __name__ == "__main__":
    sys.exit(main())
