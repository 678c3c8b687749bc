import { expect, test } from 'vitest';
import { MillraceError } from '../kernel/error.js';
import { checkAllowed, decodeAnswer, decodeCall, encodeAnswer, encodeCall, encodeError } from './calls.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test('calls and answers arrive as they were sent', () => {
  const fields = { job: 'ab', from: 2n ** 70n, list: [1, true, 'x'] };
  expect(decodeCall(encodeCall('poll', fields))).toEqual({ call: 'poll', fields });
  expect(decodeAnswer(encodeAnswer(fields))).toEqual(fields);
  const once = encodeCall('invite', fields);
  expect(decodeCall(once)).toEqual({ call: 'invite', fields, id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
  expect(decodeCall(once)).not.toEqual(decodeCall(encodeCall('invite', fields)));
});

test('an error arrives with its code, what was asked and its advice', () => {
  const given = { code: 'usage', message: 'no such job', asked: 'job ab', advice: 'list them' } as const;
  expect(() => decodeAnswer(encodeError(new MillraceError(given)))).toThrow(
    expect.objectContaining({ code: 'usage', summary: 'no such job', asked: 'job ab', advice: 'list them' }),
  );
  expect(() => decodeAnswer(encodeError(new TypeError('x is not a function')))).toThrow(
    expect.objectContaining({ code: 'io', summary: 'TypeError: x is not a function' }),
  );
});

test.each([
  ['text that is not JSON', '{"version":'],
  ['a list', '[]'],
  ['another version', '{"version":2,"call":"poll","fields":{}}'],
  ['an unknown call', '{"version":1,"call":"delete","fields":{}}'],
  ['no fields', '{"version":1,"call":"poll"}'],
])('%s is refused as a call', (_, text) => {
  expect(() => decodeCall(bytes(text))).toThrow(expect.objectContaining({ code: 'input-format' }));
});

test('a role may make its own calls and no others', () => {
  const viewer = { user: 'ann', role: 'viewer' } as const;
  expect(() => checkAllowed('overview', viewer)).not.toThrow();
  expect(() => checkAllowed('drain', viewer)).toThrow('ann is a viewer of this fleet, which may not drain');
});
