import '../gpu/native/stack.js'; // first
import { serve } from '../gpu/worker/serve.js';
import { setPreciseTimers } from '../native/libc.js';
import { OpenClDriver, type OpenClStart } from './driver.js';

setPreciseTimers();
serve<OpenClStart>('synchronous', (own, host) => new OpenClDriver(own, host));
