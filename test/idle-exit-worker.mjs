// Exits in the turn after its work has ended, while it waits to be reused.
import { runInThread } from '../dist/device/pool/threads/threads.js';

runInThread((_, ready) => {
  ready();
  setTimeout(() => process.exit());
});
