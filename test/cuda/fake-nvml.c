// An NVML for tests: one or two GPUs with fixed figures, except for energy, which grows.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6 };
static uint64_t millijoules = 5000;

int nvmlInit_v2(void) { return OK; }
int nvmlShutdown(void) { return OK; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { snprintf(out, size, "580.95.05"); return OK; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, uint64_t *device) {
  *device = strcmp(id, "0000:1b:00.0") == 0 ? 0x111 : 0x222;
  return strncmp(id, "0000:1", 6) == 0 ? OK : NOT_FOUND;
}
int nvmlDeviceGetTemperature(uint64_t device, unsigned sensor, unsigned *out) { *out = device == 0x111 && sensor == 0 ? 61 : 0; return OK; }
int nvmlDeviceGetPowerUsage(uint64_t device, unsigned *out) { (void)device; *out = 412500; return OK; }
int nvmlDeviceGetEnforcedPowerLimit(uint64_t device, unsigned *out) { (void)device; *out = 700000; return OK; }
int nvmlDeviceGetUtilizationRates(uint64_t device, unsigned out[2]) { (void)device; out[0] = 97; out[1] = 12; return OK; }
int nvmlDeviceGetClockInfo(uint64_t device, unsigned which, unsigned *out) { (void)device; *out = which == 1 ? 1980 : 3201; return OK; }
int nvmlDeviceGetMemoryInfo(uint64_t device, uint64_t out[3]) { (void)device; out[0] = 1u << 30; out[1] = 1u << 29; out[2] = 123456789; return OK; }
int nvmlDeviceGetTotalEnergyConsumption(uint64_t device, uint64_t *out) {
  *out = millijoules += 1000;
  return device == 0x111 ? OK : NOT_SUPPORTED;
}
int nvmlDeviceGetCurrPcieLinkGeneration(uint64_t device, unsigned *out) { (void)device; *out = 3; return OK; }
int nvmlDeviceGetCurrPcieLinkWidth(uint64_t device, unsigned *out) { (void)device; *out = 16; return OK; }
int nvmlDeviceGetMaxPcieLinkGeneration(uint64_t device, unsigned *out) { (void)device; *out = 5; return OK; }
int nvmlDeviceGetMaxPcieLinkWidth(uint64_t device, unsigned *out) { (void)device; *out = 16; return OK; }
