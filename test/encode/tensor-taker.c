/* Reads tensors as any DLPack consumer does: by the layout of the specification. */
#include <stdint.h>

typedef struct { int32_t device_type, device_id; } DLDevice;
typedef struct { uint8_t code, bits; uint16_t lanes; } DLDataType;
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *);
} DLManagedTensor;

/* Returns the sum of |amplitude|^2 of one row; -1 if the tensor is not a matrix of complex128 on the CPU. */
double taker_probability(uint64_t address, int64_t row) {
  const DLTensor *t = &((DLManagedTensor *)address)->dl_tensor;
  if (t->device.device_type != 1 || t->device.device_id != 0 || t->ndim != 2) return -1;
  if (t->dtype.code != 5 || t->dtype.bits != 128 || t->dtype.lanes != 1 || row >= t->shape[0]) return -1;
  const double *data = (const double *)((const char *)t->data + t->byte_offset);
  double sum = 0;
  for (int64_t i = 0; i < t->shape[1]; i++) {
    const double *a = data + 2 * (row * t->strides[0] + i * t->strides[1]);
    sum += a[0] * a[0] + a[1] * a[1];
  }
  return sum;
}

void taker_release(uint64_t address) {
  DLManagedTensor *tensor = (DLManagedTensor *)address;
  if (tensor->deleter) tensor->deleter(tensor);
}
