import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExportEngine, ExportedFile } from '../../../export/request.js';
import type { Kernel } from '../../../kernel/index.js';
import { pieceSums, sampleSums, scaledPieces, wholeSamples } from './amplitude.js';
import { angleFlags, basisIndices, widenedValues } from './checks.js';
import type { EngineSpec } from './geometry.js';
import { hadamardPass, iqpPhases } from './iqp.js';
import { basisStates, productStates } from './product.js';

/** The hand-written C and Python, in the build and in the sources. */
const folder = fileURLToPath(new URL('.', import.meta.url));

/** Reads the files of a folder and its rooms. A package has no rooms: only the names stay. */
const filesIn = (room: string, ending: RegExp): ExportedFile[] =>
  readdirSync(join(folder, room), { recursive: true, encoding: 'utf8' })
    .filter((file) => ending.test(file))
    .sort()
    .map((file) => ({ path: basename(file), text: readFileSync(join(folder, room, file), 'utf8') }));

/** The Python package of all encodings, sizes and precisions: `QdpEngine` and what belongs to it. */
export const encodeEngine = (): ExportEngine => ({
  summary: 'Quantum states from data, on CPU, CUDA and OpenCL',
  usage,
  kernels: engineKernels(),
  sources: () => filesIn('c', /\.[ch]$/),
  files: (name) =>
    filesIn('python', /\.pyi?$/).map(({ path, text }) => ({ path, text: text.replaceAll('MODULE', name) })),
});

const usage = (name: string): string => `\`\`\`python
from ${name} import QdpEngine

engine = QdpEngine(0, "float64")
states = engine.encode([[3.0, 4.0], [1.0, 0.0]], num_qubits=1, encoding_method="amplitude")
print(states.tolist())  # or torch.from_dlpack(states), numpy.from_dlpack(states)
\`\`\`

The device is chosen when the program runs: \`QdpEngine(1, "float32", "cuda")\`. Without a backend it is what the variable
\`MILLRACE_DEVICE\` names (\`cpu\`, \`cpu:4\`, \`cuda:1\`, \`opencl\`), or else the first of CUDA, an OpenCL GPU and the CPU.`;

type EngineKernel = ExportEngine['kernels'][number];
type Room = EngineSpec['store'];

function engineKernels(): EngineKernel[] {
  const both = (name: string, make: (store: Room) => unknown, onCpu = make): EngineKernel => ({
    name,
    cpu: { kernel: onCpu('floats') as Kernel },
    gpu: { kernel: make('quads') as Kernel },
  });
  const reals = ['f64', 'f32'] as const;
  const amplitudes = [
    ['f64', 'f64'],
    ['f64', 'f32'],
    ['f32', 'f32'],
  ] as const;
  return [
    ...reals.map((input) => both(`sums_${input}`, (store) => pieceSums({ input, store }))),
    both('totals', sampleSums),
    ...amplitudes.map(([input, real]) =>
      both(
        `amplitude_${input}_${real}`,
        (store) => scaledPieces({ input, real, store }),
        (store) => wholeSamples({ input, real, store }),
      ),
    ),
    ...reals.flatMap((real) => [
      ...(['angle', 'phase', 'iqp-z'] as const).map((encoding) =>
        both(`${encoding.replace('-', '_')}_${real}`, (store) => productStates(encoding, { real, store })),
      ),
      both(`basis_${real}`, (store) => basisStates({ real, store })),
      both(`iqp_${real}`, (store) => iqpPhases({ real, store })),
      both(`hadamard_${real}`, (store) => hadamardPass({ real, store })),
    ]),
    both('angles', angleFlags),
    both('widen', widenedValues),
    ...(['f64', 'f32', 'i64'] as const).map((type) => both(`index_${type}`, () => basisIndices(type))),
  ];
}
