import '../gpu/native/stack.js'; // first
import { serve } from '../gpu/worker/serve.js';
import { sharpTimers } from '../native/libc.js';
import { OpenClDriver, type OpenClStart } from './driver.js';

sharpTimers();
serve<OpenClStart>('synchronous', (own, host) => new OpenClDriver(own, host));
