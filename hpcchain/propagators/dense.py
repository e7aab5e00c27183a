"""Dense linear equations by elimination with row exchanges, for the propagators' reference solvers."""

from hpcchain.jit.decorators import kernel


@kernel
def dense_solve(a, ao, n, rhs, ro):
    """Solve the n equations with matrix a (row-major at a[ao], overwritten) in place; return 1 if it is singular."""
    for k in range(n):
        best = k
        for r in range(k + 1, n):
            if abs(a[ao + r * n + k]) > abs(a[ao + best * n + k]):
                best = r
        if not abs(a[ao + best * n + k]) > 0.0:
            return 1
        if best != k:
            for c in range(k, n):
                a[ao + k * n + c], a[ao + best * n + c] = a[ao + best * n + c], a[ao + k * n + c]
            rhs[ro + k], rhs[ro + best] = rhs[ro + best], rhs[ro + k]
        inverse = 1.0 / a[ao + k * n + k]
        for r in range(k + 1, n):
            factor = a[ao + r * n + k] * inverse
            if factor != 0.0:
                for c in range(k + 1, n):
                    a[ao + r * n + c] -= factor * a[ao + k * n + c]
                rhs[ro + r] -= factor * rhs[ro + k]
    for k in range(n - 1, -1, -1):
        total = rhs[ro + k]
        for c in range(k + 1, n):
            total -= a[ao + k * n + c] * rhs[ro + c]
        rhs[ro + k] = total / a[ao + k * n + k]
    return 0
