"""Fits the polynomials of src/backend/cpu/kernels/gelu.cc and prints their coefficients.

    python3 bench/gelu_fit.py        (needs mpmath)

Phi(x) - 1/2 and gelu'(x) - 1/2 are odd, in the erf form and in the tanh form: x P(u) with u = 2 (x / end)^2 - 1 in [-1, 1]. P is the
polynomial with the smallest largest |x| |error| (Remez' exchange), in powers of u, lowest first.
"""

from __future__ import annotations

import mpmath as mp

mp.mp.dps = 40
GRID = 1500
LEAST_WEIGHT = mp.mpf("0.05")  # of the error at x = 0


def density(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def phi_part(x):
    return density(x) if x == 0 else (mp.erfc(-x / mp.sqrt(2)) - 1) / (2 * x)


def slope_part(x):
    return phi_part(x) + density(x)


def tanh_argument(x):
    return mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)


def tanh_phi_part(x):
    return mp.sqrt(1 / (2 * mp.pi)) if x == 0 else mp.tanh(tanh_argument(x)) / (2 * x)


def tanh_slope_part(x):
    inner = mp.sqrt(2 / mp.pi) * (1 + 3 * mp.mpf("0.044715") * x * x)
    return tanh_phi_part(x) + inner * mp.sech(tanh_argument(x)) ** 2 / 2


def chebyshev_sum(coefficients, u):
    first, second = mp.mpf(0), mp.mpf(0)
    for c in reversed(coefficients[1:]):
        first, second = 2 * u * first - second + c, first
    return u * first - second + coefficients[0]


def to_powers(coefficients):
    """From Chebyshev polynomials to powers of u."""
    n = len(coefficients)
    rows = [[mp.mpf(int(i == j)) for j in range(n)] for i in range(2)]
    while len(rows) < n:
        rows.append([(2 * rows[-1][j - 1] if j else 0) - rows[-2][j] for j in range(n)])
    return [sum(c * row[j] for c, row in zip(coefficients, rows)) for j in range(n)]


def largest_of_each_sign(errors):
    """One index per run of errors of the same sign."""
    extrema, start = [], 0
    while start < len(errors):
        end = start
        while end < len(errors) and (errors[end] > 0) == (errors[start] > 0):
            end += 1
        extrema.append(max(range(start, end), key=lambda i: abs(errors[i])))
        start = end
    return extrema


def fit(function, end, degree):
    """Coefficients in powers of u, and the largest weighted error."""
    count = degree + 2

    def weight(x):
        return max(x, LEAST_WEIGHT)

    def u_of(x):
        return 2 * (x / end) ** 2 - 1

    grid = [end * mp.sqrt(mp.mpf(i) / GRID) for i in range(GRID + 1)]
    values = [function(x) for x in grid]
    nodes = [end * mp.sqrt((1 - mp.cos(mp.pi * (i + mp.mpf(1) / 2) / count)) / 2)
             for i in range(count)]
    while True:
        system, right = mp.matrix(count, count), mp.matrix(count, 1)
        for i, x in enumerate(nodes):
            for j in range(degree + 1):
                system[i, j] = mp.chebyt(j, u_of(x))
            system[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = function(x)
        solution = list(mp.lu_solve(system, right))
        coefficients, levelled = solution[:-1], abs(solution[-1])
        errors = [weight(x) * (value - chebyshev_sum(coefficients, u_of(x)))
                  for x, value in zip(grid, values)]
        worst = max(abs(e) for e in errors)
        if worst < mp.mpf("1.001") * levelled:
            return to_powers(coefficients), worst
        extrema = largest_of_each_sign(errors)
        while len(extrema) > count:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        nodes = [grid[i] for i in extrema]


if __name__ == "__main__":
    for name, function, end, degree in [("kGeluTerms", phi_part, "5.4", 14),
                                        ("kSlopeTerms", slope_part, "5.9", 17),
                                        ("kTanhTerms", tanh_phi_part, "5.0", 15),
                                        ("kTanhSlopeTerms", tanh_slope_part, "5.4", 19)]:
        terms, error = fit(function, mp.mpf(end), degree)
        print(f"{name}, |x| <= {end}, error {mp.nstr(error, 3)}:")
        print(", ".join(f"{float(t):.9e}f" for t in terms))
