import '../gpu/native/stack.js'; // first
import { serve } from '../gpu/worker/serve.js';
import { setPreciseTimers } from '../native/libc.js';
import { CudaDriver, type CudaStart } from './driver.js';

setPreciseTimers();
serve<CudaStart>('synchronous', (own, host) => new CudaDriver(own, host));
