// For `npm run coverage`: vitest ends its workers before Node would write what V8 counted, so it is written after each file.

import { takeCoverage } from 'node:v8';
import { afterAll } from 'vitest';

afterAll(() => takeCoverage());
