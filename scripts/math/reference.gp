\\ Prints the reference values of the tests of src/kernel/std/math, computed with 60 digits:
\\   gp -q scripts/math/reference.gp > test/data/math/reference.txt
\\ With COUNT=4000 before it and -s 1G, more points. A line `exp f64` begins a list. Its lines have the bits of the arguments, the bits of
\\ the nearest float, and how far the exact value is from that float, in units of the last place of the exact value.

default(realprecision, 60);
setrand(26);
count = if (getenv("COUNT"), eval(getenv("COUNT")), 100);

exponent2(x) = my(x = abs(x)); my(e = floor(log(x * 1.) / log(2))); while (2^e > x, e--); while (2^(e + 1) <= x, e++); e;
\\ The last place of a number in a format: [bits, least exponent, largest exponent, name].
place(x, F) = 2^max(exponent2(x) - F[1] + 1, F[2]);
\\ The nearest float, ties to even. Halves are exact, since rounding at 60 digits comes to them only for exact values.
near(x, F) = if (x == 0, return(0)); my(u = place(x, F), v = x / u, n = floor(v)); n += if (v - n > 1/2 || (v - n == 1/2 && n % 2), 1, 0); n * u;
bitsOf(x, F, negative) = {
  my(width = if (F[1] == 53, 64, 32), bias = F[3], b = 0);
  if (x != 0,
    my(e = exponent2(x), normal = e > F[2] + F[1] - 2);
    b = if (normal, (e + bias) * 2^(F[1] - 1) + abs(x) / 2^(e - F[1] + 1) - 2^(F[1] - 1), abs(x) / 2^F[2]));
  if (x < 0 || negative, b += 2^(width - 1));
  Strprintf(if (width == 64, "%016x", "%08x"), b);
}

\\ Random numbers: uniform in [a, b]; of any size between two powers of two; a sign.
uniform(a, b) = a + (b - a) * random(2^80) / 2^80;
sized(a, b) = my(e = uniform(a, b)); 2^floor(e) * uniform(1, 2);
signed(x) = if (random(2), x, -x);
\\ A float and its neighbours.
around(x, F) = my(v = near(x, F), u = place(v, F)); [v, v + u, v - u];

\\ Points of each function, n of them or more, rounded to the format.
limit(F, e) = if (F[1] == 53, e[1], e[2]);
pointsExp(F, n) = {
  my(top = limit(F, [709.7827128933840, 88.72283]), bottom = limit(F, [-745.1332191019411, -103.9720]), normal = limit(F, [-708.3964185322641, -87.33654]));
  concat([vector(n, i, uniform(bottom, top)), vector(n \ 2, i, uniform(-1, 1)), vector(n \ 4, i, signed(sized(-limit(F, [60, 30]), 0))),
    concat(vector(n \ 4, i, around((random(floor((top - bottom) / log(2))) - floor(-bottom / log(2)) + 1/2) * log(2), F))),
    around(normal, F), vector(n \ 4, i, uniform(bottom, normal)), vector(n \ 8, i, top - sized(-40, -2))]);
}
pointsExp2(F, n) = {
  my(top = limit(F, [1024, 128]), bottom = limit(F, [-1075, -150]), normal = limit(F, [-1022, -126]));
  concat([vector(n, i, uniform(bottom, top)), vector(n \ 2, i, uniform(-1, 1)), vector(n \ 4, i, signed(sized(-limit(F, [60, 30]), 0))),
    concat(vector(n \ 4, i, around(random(top - bottom - 1) + bottom + 1/2, F))), vector(n \ 8, i, random(top - bottom) + bottom),
    vector(n \ 4, i, uniform(bottom, normal)), vector(n \ 8, i, top - sized(-40, -2))]);
}
pointsLog(F, n) = {
  my(top = limit(F, [1024, 128]), bottom = limit(F, [-1074, -149]), normal = limit(F, [-1022, -126]));
  concat([vector(n, i, sized(bottom, top)), vector(n, i, uniform(0.5, 2)), vector(n \ 2, i, 1 + signed(sized(-F[1] + 1, -2))),
    concat(vector(n \ 4, i, around(2^(random(top - bottom - 2) + bottom + 1) * sqrt(1/2), F))), vector(n \ 4, i, sized(bottom, normal)),
    vector(n \ 8, i, 2^(random(top - bottom) + bottom)), [1 - 2^-F[1], 1 + 2^(1 - F[1]), sqrt(1/2), sqrt(2)]]);
}
pointsTan(F, n) = {
  my(top = limit(F, [40, 17]));
  concat([vector(n, i, signed(uniform(0, 7))), vector(n, i, signed(sized(-limit(F, [60, 30]), top))),
    concat(vector(n \ 2, i, around((random(2000) + 1) * Pi / 4, F))), concat(vector(n \ 2, i, around(floor(sized(0, top - 1)) * Pi / 4, F)))]);
}
pointsTanh(F, n) = {
  my(top = limit(F, [20, 10]));
  concat([vector(n, i, signed(uniform(0, 3))), vector(n \ 2, i, signed(uniform(0, top))), vector(n \ 2, i, signed(sized(-limit(F, [60, 30]), 0))),
    concat(vector(n \ 4, i, around((random(4) + 1/2) * log(2) / 2 * (1 + signed(sized(-20, -1)) / 4), F))), vector(n \ 8, i, sized(F[2], F[2] + 60))]);
}
pointsPow(F, n) = {
  my(top = limit(F, [1023.9, 127.9]), bottom = limit(F, [-1074, -149]), normal = limit(F, [-1022, -126]), of);
  \\ x, and the y that makes x^y 2^e
  of = ((x, e) -> my(x = near(x, F)); if (x == 1, x = 2); [x, e * log(2) / log(x)]);
  concat([vector(n, i, of(sized(bottom + 30, top), uniform(bottom, top))), vector(n \ 2, i, of(uniform(0.5, 2), signed(uniform(0, top)))),
    vector(n \ 2, i, of(1 + signed(sized(-F[1] + 2, -3)), uniform(normal, top))), vector(n \ 2, i, of(sized(-4, 4), uniform(bottom, normal))),
    vector(n \ 4, i, [signed(sized(-3, 3)), random(81) - 40]), vector(n \ 4, i, [sized(-30, 30), signed(1/2)]),
    vector(n \ 4, i, of(sized(bottom, normal), signed(uniform(0, top)))), vector(n \ 4, i, of(sized(-20, 20), top + uniform(-1, 0)))]);
}
pointsAtan2(F, n) = {
  my(top = limit(F, [1023, 127]), bottom = limit(F, [-1074, -149]), pair);
  pair = ((x, ratio) -> my(x = near(x, F), v = if (random(2), [x * ratio, x], [x, x * ratio])); [signed(v[1]), signed(v[2])]);
  concat([vector(n, i, pair(sized(-3, 3), uniform(0, 1))), vector(n, i, [signed(sized(bottom, top)), signed(sized(bottom, top))]),
    vector(n \ 2, i, pair(sized(bottom + 60, top - 1), sized(-50, 0) / 2)), vector(n \ 4, i, pair(sized(-3, 3), 1 + signed(sized(-F[1], -4)))),
    vector(n \ 4, i, pair(sized(-3, 3), tan(Pi / 8) * (1 + signed(sized(-F[1], -6))))), vector(n \ 4, i, pair(sized(-3, 3), sized(-limit(F, [34, 18]), -limit(F, [26, 12])))),
    vector(n \ 4, i, [signed(sized(bottom, bottom + 80)), signed(sized(bottom, bottom + 80))])]);
}

power(x, y) = if (x < 0 && round(y) % 2, -1, 1) * exp(y * log(abs(x)));
angle(y, x) = if (abs(y) > abs(x), sign(y) * Pi / 2 - atan(x / y), atan(y / x) + if (x < 0, sign(y) * Pi, 0));

tabulate(name, F, points, value) = {
  printf("%s %s\n", name, F[4]);
  my(largest = 2^(F[3] + 1) - 2^(F[3] + 1 - F[1]), half = 2^(F[3] - F[1]));
  foreach (points, p,
    my(args = if (type(p) == "t_VEC", apply(x -> near(x, F), p), [near(p, F)]));
    if (vecmax(abs(args)) > largest || vecmin(abs(args)) == 0, next);
    my(exact = call(value, apply(x -> x * 1., args)));
    if (exact == 0 || abs(exact) > largest, next);
    my(float = near(exact, F));
    if (abs(exact - float) < 1e-50 * abs(exact), exact = float * 1.);
    my(away = (exact - float) / place(exact, F));
    printf("%s %s %.4f\n", strjoin(apply(x -> bitsOf(x, F), args), " "), bitsOf(float, F, exact < 0), away));
}

{
foreach ([[53, -1074, 1023, "f64"], [24, -149, 127, "f32"]], F,
  tabulate("exp", F, pointsExp(F, count), exp);
  tabulate("exp2", F, pointsExp2(F, count), (x -> exp(x * log(2))));
  tabulate("log", F, pointsLog(F, count), log);
  tabulate("log2", F, pointsLog(F, count), (x -> log(x) / log(2)));
  tabulate("pow", F, pointsPow(F, count), power);
  tabulate("tan", F, pointsTan(F, count), tan);
  tabulate("atan2", F, pointsAtan2(F, count), angle);
  tabulate("tanh", F, pointsTanh(F, count), tanh));
}
quit
