import { expect, test } from 'vitest';
import { capabilities, maxLanes, parseFeatures, parseName, thisCpu } from './cpu.js';

const arm = `processor\t: 0
BogoMIPS\t: 50.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
`;
const x86 = `processor\t: 0
model name\t: Intel(R) Xeon(R) Platinum 8480C
flags\t\t: fpu sse2 sse4_1 avx2 avx512f sha_ni vaes aes
`;

test('parses the name and features of an ARM processor', () => {
  const features = parseFeatures(arm);
  expect(parseName(arm)).toBe('Neoverse-N1');
  expect([...features]).toContain('neon');
  const cpu = { arch: 'arm', features } as const;
  expect(maxLanes(cpu)).toBe(4);
  expect(capabilities(cpu)).toEqual(['u64', 'f64', 'exact-floats', 'atomics', 'sha', 'aes', 'neon']);
});

test('parses the name and features of an x86 processor', () => {
  const cpu = { arch: 'x86', features: parseFeatures(x86) } as const;
  expect(parseName(x86)).toBe('Intel(R) Xeon(R) Platinum 8480C');
  expect(maxLanes(cpu)).toBe(16);
  expect(capabilities(cpu)).toEqual(['u64', 'f64', 'exact-floats', 'atomics', 'sha', 'aes', 'vaes', 'avx2', 'avx512']);
});

test('an unknown ARM part keeps its numbers', () => {
  expect(parseName('CPU implementer\t: 0x99\nCPU part\t: 0x123\n')).toBe('ARM 0x99 0x123');
});

test('this machine has a name, threads and memory', () => {
  const cpu = thisCpu();
  expect(cpu.name).not.toBe('');
  expect(cpu.threads).toBeGreaterThan(0);
  expect(cpu.memoryBytes).toBeGreaterThan(2 ** 28);
});
