import { describe, expect, it } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { jsonLine, openOutput } from './output.js';
import { redact, redactArguments, redactStart, registerSecret } from './redact.js';
import { isSecretName, isSecretOption } from './secret-forms.js';

describe('credentials by their form', () => {
  it.each([
    ['stratum+tcp://ann.worker:hunter2@pool.example:3333', 'stratum+tcp://…@pool.example:3333'],
    ['cannot reach https://user:p%40ss@host/path?x=1, gave up', 'cannot reach https://…@host/path?x=1, gave up'],
    ['redis://:hunter2@localhost', 'redis://…@localhost'],
    ['--pool-password hunter2 --device cuda:0', '--pool-password … --device cuda:0'],
    ['--pool-password=hunter2', '--pool-password=…'],
    ['MILLRACE_POOL_PASSWORD=hunter2', 'MILLRACE_POOL_PASSWORD=…'],
    ['{"password":"hunter2","user":"ann"}', '{"password":"…","user":"ann"}'],
    ['Authorization: Bearer abcdef.ghi', 'Authorization: Bearer …'],
    ['api_key: 12345, next', 'api_key: …, next'],
    ['token=abc&x=1', 'token=…&x=1'],
    ['"clientSecret" : \'abc\'', '"clientSecret" : \'…\''],
    ['--api-key\t"abc def"', '--api-key\t"… def"'],
    ['TOKEN=bearer', 'TOKEN=…'],
    ['token: basic "abc"', 'token: basic "…"'],
    ['token=tcp://a:b,c;d@host rest', 'token=… rest'],
    ['a://b@c://d@e', 'a://…@c://…@e'],
    ['x-pass: a; passes: b; pass-word: c', 'x-pass: …; passes: b; pass-word: …'],
    ['authorization-code: a; authorization: b', 'authorization-code: a; authorization: …'],
    ['tcp://ключ:пароль@host token=пароль\u3000é', 'tcp://…@host token=…\u3000é'],
    ['\ud800token=\udc00', '\ud800token=…'],
  ])('%s', (text, wanted) => expect(redact(text)).toBe(wanted));

  it.each([
    '1,204 cases passed, 0 failed',
    'https://example.org/a@b',
    'the password is wrong',
    'native  22.9 MH/s',
    '--device cuda:0 --space 2^40',
    'token token',
    'a token: ,',
    '://a@b',
    '+://a@b',
    'a://@b',
    'a://b c@d',
    'tokén=x',
  ])('%s stays as it is', (text) => expect(redact(text)).toBe(text));
});

describe('hostile text', () => {
  const hostile = [
    'token',
    '--token-',
    '--token ',
    'token ',
    'token"',
    'password: ',
    'pass',
    'a',
    'a://',
    'a://b',
    '--token=bearer ',
    'authorization: basic ',
  ];
  it.each([
    ...hostile.map((part) => [part, (length: number) => part.repeat(length / part.length)] as const),
    ...['token', '--token', 'token: bearer', 'a://b'].map(
      (start) => [`${start} and spaces`, (length: number) => start + ' '.repeat(length)] as const,
    ),
    ['a name without end', (length: number) => `a://${'b'.repeat(length)}`],
    ['a scheme without end', (length: number) => `${'a'.repeat(length)}://`],
    ['a scheme with signs without end', (length: number) => `a${'+'.repeat(length)}://b`],
    ['an option without end', (length: number) => `--${'token-'.repeat(length / 6)} b`],
  ] as const)('%s: time is linear in the length', (_, made) => {
    const [short, long] = [made(byTier(1 << 14, 1 << 16)), made(byTier(1 << 18, 1 << 20))];
    const best = (text: string, times: number): number => {
      const used = Array.from({ length: 5 }, () => {
        const from = process.cpuUsage();
        for (let k = 0; k < times; k++) redact(text);
        const { user, system } = process.cpuUsage(from);
        return user + system;
      });
      return Math.min(...used);
    };
    // Both redact the same number of characters: equal times if linear, sixteen times longer if quadratic. CPU time is
    // used because on a busy machine all five runs of one text may have waited. Below 20 ms it is too coarse (it may be
    // 0), and quadratic time would be far longer.
    expect(best(long, 1)).toBeLessThan(6 * Math.max(20_000, best(short, 16)));
  });
  it('the rest of a text that is full of credentials is hidden', () => {
    const shown = redact('token=a '.repeat(20_000));
    expect(shown).toMatch(/^(token=… )+token…$/);
    expect(shown.length).toBeGreaterThan(75_000);
  });
  it('a megabyte of ordinary JSON stays as it is', () => {
    const text = JSON.stringify(Array.from({ length: 40_000 }, (_, id) => ({ id, job: `job-${id}` })));
    expect(redact(text)).toBe(text);
  });
});

describe('credentials by their value', () => {
  it('are hidden everywhere once they are registered', () => {
    registerSecret('correct horse');
    registerSecret('stratum+tcp://ann:battery staple@pool'.replace(' ', '-'));
    expect(redact('login failed: correct horse')).toBe('login failed: …');
    expect(redact('battery-staple')).toBe('…');
    expect(redact('horse')).toBe('horse');
  });
  it('are not hidden if they are too short to tell from words', () => {
    registerSecret('a');
    expect(redact('a banana')).toBe('a banana');
  });
});

describe('the start of a text', () => {
  registerSecret('swordfish');
  it.each([
    ['is the whole of a short text', 'with swordfish', 14, 'with …'],
    ['is cut', 'abcdefgh', 4, 'abcd… (8 characters)'],
    ['hides a secret before it is cut', 'with swordfish and more', 8, 'with … a… (23 characters)'],
    ['hides an address before it is cut', 'tcp://ann:password@host', 14, 'tcp://…@host'],
  ])('%s', (_, text, maxLength, wanted) => expect(redactStart(text, maxLength)).toBe(wanted));
  it('does not expose a secret at the end of the input when those before it are hidden', () => {
    const shown = redactStart(`token=${'y'.repeat(2 ** 20 - 11)} swordfish${' and more'.repeat(1e5)}`, 65_536);
    expect(shown).not.toMatch(/sw/);
  });
});

it('redactArguments hides the values of secret options and keeps the rest', () => {
  expect(
    redactArguments([
      'block',
      'mine',
      '--pool-password',
      'hunter2',
      '--token=t0k',
      'tcp://a:b@c',
      '--secret',
      '--json',
    ]),
  ).toEqual(['block', 'mine', '--pool-password', '…', '--token=…', 'tcp://…@c', '--secret', '--json']);
});

it.each(['poolPassword', 'pool-password', 'MILLRACE_API_KEY', 'accessToken', 'clientSecret', 'pass'])(
  '%s is the name of a secret',
  (name) => expect(isSecretName(name)).toBe(true),
);
it.each(['passed', 'device', 'bypassing', 'key', 'maxPower'])('%s is not the name of a secret', (name) =>
  expect(isSecretName(name)).toBe(false),
);

it('the path of a file with a secret is shown', () => {
  for (const name of ['--password-file', 'passwordFile', 'MILLRACE_PASSWORD_FILE']) {
    expect(isSecretOption(name)).toBe(false);
  }
  expect(isSecretOption('--password')).toBe(true);
  expect(redactArguments(['--password-file', 'a.txt'])).toEqual(['--password-file', 'a.txt']);
  const error = "cannot read a password from password (ENOENT: no such file or directory, open 'password')";
  expect(redact(error)).toBe(error);
});

it('no output has secrets: messages, warnings, errors, events, diagnostics', () => {
  registerSecret('hunter2');
  const written: string[] = [];
  const sink = { write: (text: string) => written.push(text) };
  for (const json of [false, true]) {
    const output = openOutput({ json, log: 'debug' }, { stdout: sink, stderr: sink });
    output.say('with hunter2');
    output.warn('with hunter2');
    output.fail('with hunter2');
    output.explain('with hunter2');
    output.event('error', { code: 'io', message: 'tcp://u:hunter2@h', password: 'x', deep: { token: 'hunter3' } });
  }
  expect(written.length).toBeGreaterThan(4);
  expect(written.join('')).not.toMatch(/hunter|"x"/);
  expect(jsonLine({ passed: 3, token: 7 })).toBe('{"passed":3,"token":7}');
});
