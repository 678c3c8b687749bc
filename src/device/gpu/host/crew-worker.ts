import { runInThread } from '../../pool/threads/threads.js';
import { runHelper } from './crew.js';

runInThread<SharedArrayBuffer>((memory, ready) => {
  ready();
  runHelper(memory);
});
