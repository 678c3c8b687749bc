import { runInThread } from '../pool/threads/threads.js';
import { webGpuWork } from './work.js';

runInThread(webGpuWork());
