import { runInThread } from '../../pool/threads/threads.js';
import { runHelper } from './parallel-copier.js';

runInThread<SharedArrayBuffer>((memory, ready) => {
  ready();
  runHelper(memory);
});
