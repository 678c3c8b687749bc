// Runs Python inside this process. NumPy imports states by DLPack; prints the resulting array as JSON.
//   node test/encode/numpy.mjs LIBPYTHON
import koffi from 'koffi';

const { openDevice, openEncoder } = await import(new URL('../../dist/index.js', import.meta.url).href);
const [library = ''] = process.argv.slice(2);
const self = koffi.load(null);
const dlopen = self.func('uint64_t dlopen(const char *path, int mode)');
// RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE: NumPy's libraries resolve Python's functions by name.
if (Number(dlopen(library, 0x2 | 0x100 | 0x1000)) === 0) throw new Error(`cannot load ${library}`);
const python = koffi.load(library);
python.func('void Py_InitializeEx(int signals)')(0);
const run = python.func('int PyRun_SimpleString(const char *text)');
if (run('import numpy') !== 0) process.exit(3); // this Python finds its packages only when run as a program

const device = await openDevice('native');
const encoder = await openEncoder(device, { encoding: 'amplitude', qubits: 3, precision: 'f64', batch: 2 });
const states = await encoder.encodeBatch([3, 0, 4, 0, 0, 0, 0, 0, 1, 1, 1, 1, -1, -1, -1, -1]);
const tensor = await states.handOverTensor();
const program = `
import ctypes, json, numpy
class States:
    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(${tensor.address}, NAME, None)
    def __dlpack_device__(self):
        return (1, 0)
NAME = b"dltensor"
a = numpy.from_dlpack(States())
print(json.dumps({"shape": a.shape, "dtype": str(a.dtype), "strides": a.strides,
  "at": a.__array_interface__["data"][0], "re": a.real.ravel().tolist(), "im": a.imag.ravel().tolist()}), flush=True)
`;
if (run(program) !== 0) throw new Error('Python failed');
const before = tensor.isReleased;
run('del a\nimport gc\ngc.collect()');
console.log(JSON.stringify({ pointer: tensor.fields.pointer, before, after: tensor.isReleased }));
encoder.close();
await device.close();
