import { inThread } from '../../pool/threads/threads.js';
import { help } from './crew.js';

inThread<SharedArrayBuffer>((memory, ready) => {
  ready();
  help(memory);
});
