import { serve } from '../../dist/device/gpu/serve.js';
import { open } from './open.mjs';

serve('synchronous', open);
