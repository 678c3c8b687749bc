import { describe, expect, test } from 'vitest';
import { between } from '../../engine/work/space.js';
import { decodeCoordinatorMessage, decodeResult, decodeWorkerMessage, encodeMessage } from './codec.js';
import type { CoordinatorMessage, ResultMessage, WorkerMessage } from './messages.js';

const claim = { job: 'j', id: '3.7', range: between(5n, 1n << 128n) };
const fromWorker: WorkerMessage[] = [
  { kind: 'want', worker: 'w', request: 1, rates: [{ job: 'j', perMs: 0.25 }], only: ['gaps'] },
  { kind: 'want', worker: 'w', request: 2, rates: [] },
  { kind: 'beat', worker: 'w', answered: 1, rates: [], leases: [{ ...claim, token: 't', left: 1n << 127n }] },
  { kind: 'leave', worker: 'w', reason: 'asked to' },
  { kind: 'refuse', worker: 'w', job: 'j', reason: 'no such workload' },
];
const result: ResultMessage = {
  kind: 'result',
  worker: 'w',
  number: 4,
  claim,
  token: 't',
  ranges: [between(5n, 9n)],
  hits: [
    { index: 7n, fields: { start: 1n << 100n, length: -0, list: [Number.NaN, true, 'x'], index: 3, fields: null } },
  ],
};
const fromCoordinator: CoordinatorMessage[] = [
  { kind: 'grant', term: 3, request: 1, claim, token: 't', ms: 2000, beatMs: 2000 },
  { kind: 'none', term: 3, request: 1, retryMs: 1000, beatMs: 2000 },
  { kind: 'none', term: 3, request: 1, retryMs: 1000, beatMs: 2000, reason: 'its results were wrong' },
  {
    kind: 'state',
    term: 3,
    beatMs: 2000,
    jobs: [{ job: 'j', state: 'paused', end: 9n }],
    lost: ['3.6'],
    isDraining: true,
  },
  { kind: 'drop', term: 3, job: 'j', range: between(6n, 8n) },
  { kind: 'committed', term: 3, numbers: [1, 2], refused: [{ number: 3, reason: 'a hit is wrong' }] },
  { kind: 'job', term: 3, state: { job: 'j', state: 'running', end: 1n << 128n } },
  { kind: 'announce', term: 3 },
];

describe('messages', () => {
  test('are read back as they were', () => {
    for (const message of fromWorker) expect(decodeWorkerMessage(encodeMessage(message))).toEqual(message);
    for (const message of fromCoordinator) expect(decodeCoordinatorMessage(encodeMessage(message))).toEqual(message);
    expect(decodeResult(encodeMessage(result))).toEqual(result);
  });

  test('have a form that others can read', () => {
    expect(Buffer.from(encodeMessage(fromCoordinator[4]!)).toString()).toBe(
      '{"job":"j","kind":"drop","range":["6","8"],"term":3,"version":1}',
    );
  });

  test.each<[string, RegExp, string]>([
    ['not JSON', /not JSON/, '{'],
    ['of another version', /version is 2/, '{"version":2,"kind":"announce","term":1}'],
    ['of another kind', /kind "result" is unknown/, '{"version":1,"kind":"result","term":1}'],
    ['with a field of another type', /term is not/, '{"version":1,"kind":"announce","term":"1"}'],
    ['with a range backwards', /range is not/, '{"version":1,"kind":"drop","term":1,"job":"j","range":["8","6"]}'],
    [
      'with a number that is too large',
      /range is not/,
      `{"version":1,"kind":"drop","term":1,"job":"j","range":["1","${10n ** 60n}"]}`,
    ],
    [
      'with a state of no job',
      /not a state/,
      '{"version":1,"kind":"job","term":1,"state":{"job":"j","state":"x","end":"1"}}',
    ],
  ])('%s are refused', (_, message, text) => {
    expect(() => decodeCoordinatorMessage(Buffer.from(text))).toThrow(
      expect.objectContaining({ code: 'input-format', summary: expect.stringMatching(message) }),
    );
  });

  test('of no kind of worker are refused, and results only as results', () => {
    const beat = encodeMessage(fromWorker[2]!);
    expect(() => decodeResult(beat)).toThrow(/kind "beat"/);
    expect(() => decodeWorkerMessage(encodeMessage(result))).toThrow(/kind "result"/);
    expect(() => decodeWorkerMessage(new Uint8Array(2 << 20))).toThrow(/more than/);
  });
});
