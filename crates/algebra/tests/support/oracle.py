"""Factors and Gröbner bases by FLINT. One question per line: "factor POLYNOMIAL" or "basis POLYNOMIAL|POLYNOMIAL|…".

A polynomial is a list of terms, "coefficient exponent exponent exponent" with ";" between them. Answers are lists of
polynomials with "|" between them; a factor is repeated as often as it divides.
"""

import sys

from flint import fmpz_mpoly_ctx, fmpz_mpoly_vec

CONTEXT = fmpz_mpoly_ctx.get(("x", "y", "z"), "degrevlex")


def read(text):
    terms = {}
    for term in text.split(";"):
        coefficient, *exponents = map(int, term.split())
        terms[tuple(exponents)] = coefficient
    return CONTEXT.from_dict(terms)


def write(polynomial):
    terms = polynomial.to_dict().items()
    return ";".join(" ".join(map(str, (coefficient, *exponents))) for exponents, coefficient in terms)


for line in sys.stdin:
    kind, text = line.split(" ", 1)
    if kind == "factor":
        _, factors = read(text).factor()
        answer = [factor for factor, multiplicity in factors for _ in range(multiplicity)]
    else:
        generators = fmpz_mpoly_vec([read(part) for part in text.split("|")], CONTEXT)
        answer = list(generators.buchberger_naive().autoreduction(groebner=True))
    print("|".join(map(write, answer)))
