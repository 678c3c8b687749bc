\\ Prints the constants of src/kernel/std/math: gp -q scripts/math/coefficients.gp
\\
\\ Each polynomial is the weighted minimax one (at 115 digits). Coefficients are rounded from the lowest power up,
\\ and those after a rounded one are fitted again. Where a list of low parts is printed, the first coefficients are sums of two
\\ floats. `left` is the relative error of the whole function that the rounded polynomial leaves, as a power of two.

default(realprecision, 115);

\\ Rounds to `bits` significant bits, ties to even.
near(x, bits) = if (x == 0, return(0)); my(e = bits - 1 - floor(log(abs(x)) / log(2))); my(v = x * 2^e, n = round(v)); if (abs(v - n) == 1/2 && n % 2, n = 2 * floor(v / 2)); n / 2^e;
floorBits(x, bits) = my(e = bits - 1 - floor(log(abs(x)) / log(2))); floor(x * 2^e) / 2^e;

\\ The coefficients of powers k .. degree of the polynomial P that minimises max |w(t)·(f(t) − P(t))| over a grid: least
\\ squares, with the weight of each point multiplied by its error until the largest errors are equal (Lawson's algorithm).
minimax(f, w, k, degree, a, b) = {
  my(grid = 8 * (degree + 3), n = degree - k + 1, c, e);
  my(t = vector(grid, i, (a + b) / 2 - (b - a) / 2 * cos(Pi * (i - 1/2) / grid)));
  my(B = matrix(grid, n, i, j, w(t[i]) * t[i]^(k + j - 1)), y = vectorv(grid, i, w(t[i]) * f(t[i])), weights = vector(grid, i, 1));
  for (turn = 1, 40,
    my(W = B~ * matdiagonal(weights));
    c = matsolve(W * B, W * y);
    e = abs(y - B * c);
    weights = vector(grid, i, weights[i] * e[i]);
    weights = precision(weights / vecsum(weights), 115));
  Vec(c);
}

\\ Rounds the coefficients one after the other; the first `twice` of them to two floats.
fitted(f, w, degree, a, b, bits, twice) = {
  my(c = List(), low = List(), next, P = (t -> 0), g);
  for (k = 0, degree,
    next = minimax((t -> f(t) - P(t)), w, k, degree, a, b)[1];
    listput(c, near(next, bits));
    if (k < twice, listput(low, near(next - c[k + 1], bits)));
    my(v = vector(k + 1, j, c[j] + if (j <= twice, low[j], 0)));
    P = (t -> sum(j = 1, #v, v[j] * t^(j - 1))));
  my(worst = vecmax(vector(1000, i, my(t = a + (b - a) * (i - 1/2) / 1000); abs(w(t) * (f(t) - P(t))))));
  [Vec(c), Vec(low), log(worst) / log(2)];
}

number(x) = strjoin(strsplit(Strprintf("%.17g", x), " "));
show(name, x) = printf("%s %s\n", name, number(x));
shown(v) = strjoin(apply(x -> number(x), v), ", ");
print2(name, r) = printf("%s: [%s]\n  low: [%s]\n  left: %.1f\n", name, shown(r[1]), shown(r[2]), r[3]);

{
foreach ([["f64", 53, 42, 10, 8, 9, 3, 11], ["f32", 24, 16, 5, 4, 5, 2, 5]], row,
  my([name, bits, short, expDegree, logDegree, powDegree, powTwice, atanDegree] = row);
  printf("== %s\n", name);
  show("log2e", near(1 / log(2), bits));
  show("ln2 short", floorBits(log(2), short));
  show("ln2 short rest", near(log(2) - floorBits(log(2), short), bits));
  show("ln2", near(log(2), bits));
  show("ln2 rest", near(log(2) - near(log(2), bits), bits));
  my(pi4 = floorBits(Pi / 4, bits - 2));
  show("pi/4 short", pi4);
  show("pi/4 rest", near(Pi / 4 - pi4, bits));
  show("sqrt half", near(sqrt(1/2), bits));

  \\ exp r = 1 + r + r²·Q(r)
  my(a = log(2) / 2 * 1.0001);
  my(Q = (r -> if (abs(r) < 1e-8, 1/2 + r/6 + r^2/24 + r^3/120 + r^4/720, (exp(r) - 1 - r) / r^2)));
  print2("exp", fitted(Q, (r -> r^2 / exp(r)), expDegree, -a, a, bits, 0));

  \\ log m = s·L(s²), s = (m − 1) / (m + 1), the logarithm to base e and to base 2
  my(zMax = ((sqrt(2) - 1) / (sqrt(2) + 1))^2 * 1.0001);
  my(L = (z -> if (z < 1e-12, 2 + 2*z/3 + 2*z^2/5 + 2*z^3/7 + 2*z^4/9, my(s = sqrt(z)); 2 * atanh(s) / s)));
  my(tail = (z -> if (z < 1e-12, 2/3 + 2*z/5 + 2*z^2/7 + 2*z^3/9, my(s = sqrt(z)); (2 * atanh(s) / s - 2) / z)));
  print2("log (after 2)", fitted(tail, (z -> z / L(z)), logDegree - 1, 0, zMax, bits, 0));
  my(L2 = (z -> L(z) / log(2)));
  print2("log2", fitted(L2, (z -> 1 / L2(z)), logDegree, 0, zMax, bits, 1));
  print2("pow", fitted(L2, (z -> 1 / L2(z)), powDegree, 0, zMax, bits, powTwice));

  \\ atan t = t + t³·A(t²)
  my(tMax = tan(Pi / 8)^2 * 1.0001);
  my(A = (z -> if (z < 1e-12, -1/3 + z/5 - z^2/7 + z^3/9, my(t = sqrt(z)); (atan(t) / t - 1) / z)));
  print2("atan", fitted(A, (z -> if (z == 0, 0, z / (atan(sqrt(z)) / sqrt(z)))), atanDegree, 0, tMax, bits, 0));
);
}
quit
