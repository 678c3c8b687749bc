// Loaded before a command: its clock runs FAST_CLOCK times as fast, by default ten times; if DISK_FULL names a file (`disk.c`),
// only while that exists.

import { existsSync } from 'node:fs';

const now = performance.now.bind(performance);
const { FAST_CLOCK = '10', DISK_FULL } = process.env;
let last = now();
let gained = 0;
Object.defineProperty(performance, 'now', {
  value: () => {
    const real = now();
    if (DISK_FULL === undefined || existsSync(DISK_FULL)) gained += (Number(FAST_CLOCK) - 1) * (real - last);
    last = real;
    return real + gained;
  },
});
