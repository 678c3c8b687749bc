// Loaded before a command: its clock runs ten times as fast while the file that DISK_FULL names (`disk.c`) exists.

import { existsSync } from 'node:fs';

const now = performance.now.bind(performance);
let last = now();
let gained = 0;
Object.defineProperty(performance, 'now', {
  value: () => {
    const real = now();
    if (existsSync(process.env.DISK_FULL ?? '')) gained += 9 * (real - last);
    last = real;
    return real + gained;
  },
});
