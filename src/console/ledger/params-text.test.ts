import { expect, test } from 'vitest';
import { normalized } from '../../store/encoding.js';
import { paramsText } from './params-text.js';

test('numbers are shown; binary data is not, before and after it is stored', () => {
  const params = { job: { bits: 24 }, blocks: 1, headers: Buffer.from('00ff', 'hex') };
  expect(paramsText(params)).toBe('bits=24 blocks=1');
  expect(paramsText(normalized(params) as Record<string, unknown>)).toBe('bits=24 blocks=1');
});
