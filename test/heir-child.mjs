// Holds a pipe open, leaves it to an heir, closes it, and waits for its end. Its words are what it has done.
import { closeSync, openSync } from 'node:fs';
import { leaveToHeir } from '../dist/device/heir.js';

const [, , path = '', way] = process.argv;
const file = openSync(path, 'w');
const has = leaveToHeir((name) => name === (way === 'left' ? path : 'none'));
closeSync(file);
console.log(has ? 'left' : 'closed');
setInterval(() => undefined, 1000);
