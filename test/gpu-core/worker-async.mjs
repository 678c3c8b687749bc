import { serve } from '../../dist/device/gpu/worker/serve.js';
import { open } from './open.mjs';

serve('asynchronous', open);
