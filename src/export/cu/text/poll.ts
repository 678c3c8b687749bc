/** The pipeline `poll`: launches on several streams, whose ends the host polls. */
export const poll = `// Ranges run as launches, SLOTS of them at a time, each on its own stream: while one ends, the next already runs. The host
// asks each stream's event whether it has passed and never waits for one of them.

constexpr int SLOTS = 4;
constexpr double RANGE_SECONDS = 0.008;

// A running range: its stream, its hits on the device, and their copy on the host.
struct Slot {
  Slot() {
    cudaEvent_t event = nullptr;
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    done.reset(event);
  }

  const Stream stream = make_stream();
  Event done;
  // The status words, then the ring. Status word 0 is 1 if the launch stopped early.
  static constexpr u32 STATUS_WORDS = 8, WORDS = STATUS_WORDS + RING_WORDS;
  const DeviceArray<u32> words = make_device_array<u32>(WORDS);
  const HostArray<u32> copy = make_host_array<u32>(WORDS);
  // A launch stops when the word on the device is not its epoch.
  const DeviceArray<u32> epoch = make_device_array<u32>(1);
  const HostArray<u32> next_epoch = make_host_array<u32>(1);

  Search *search = nullptr;  // null if nothing runs
  Range range = {};
  bool is_cancelled = false;
};

// How many thread blocks a launch has: what the GPU holds at a time, or up to 64 times as many, so that the last ones end
// together; each tries at least 16 nonces a thread.
static u32 grid_size(u64 nonces, u64 resident) {
  const u64 blocks = (nonces + THREADS - 1) / THREADS;
  return static_cast<u32>(std::min(blocks, std::max(resident, std::min(64 * resident, blocks / 16))));
}

static void start(Slot &slot, Search &search, const Gpu &gpu, const Pace &pace) {
  slot.search = &search;
  slot.range = search.take(pace.count(gpu.resident_blocks));
  slot.is_cancelled = false;
  Launch launch = search.launch;
  launch.words[LAST] = static_cast<u32>(slot.range.count - 1);
  launch.words[BASE] = static_cast<u32>(slot.range.from);
  launch.words[EPOCH] = slot.next_epoch[0];
  u32 *const words = slot.words.get();
  const cudaStream_t stream = slot.stream.get();
  CUDA(cudaMemsetAsync(words, 0, (Slot::STATUS_WORDS + RING_HEADER) * sizeof(u32), stream));
  const u32 blocks = grid_size(slot.range.count, gpu.resident_blocks);
  search_nonces<<<blocks, THREADS, 0, stream>>>(launch, nullptr, slot.epoch.get(), words, words + Slot::STATUS_WORDS);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpyAsync(slot.copy.get(), words, Slot::WORDS * sizeof(u32), cudaMemcpyDeviceToHost, stream));
  CUDA(cudaEventRecord(slot.done.get(), stream));
}

static void collect(Slot &slot, Pace &pace) {
  Search &search = *slot.search;
  slot.search = nullptr;
  if (slot.is_cancelled) return search.give_back(slot.range);
  if (slot.copy[0] != 0) throw Failure{DEVICE_FAILED, "the GPU stopped a launch before its end"};
  search.finish(slot.range, &slot.copy[Slot::STATUS_WORDS]);
  pace.add(slot.range.count);
}

// Stops a launch that is not needed any more. The new epoch has arrived before this returns, so that it cannot stop the
// slot's next launch.
static void cancel(Slot &slot, const Stream &control) {
  slot.is_cancelled = true;
  slot.next_epoch[0]++;
  CUDA(cudaMemcpyAsync(slot.epoch.get(), slot.next_epoch.get(), sizeof(u32), cudaMemcpyHostToDevice, control.get()));
  CUDA(cudaStreamSynchronize(control.get()));
}

// The searches that take turns: the first SLOTS that are not decided.
class Turns {
 public:
  explicit Turns(std::vector<Search> &searches) : searches_(searches) {}

  // Returns the search that gets a free slot, the one with the fewest running ranges; null if none has work.
  Search *next() {
    const auto is_decided = [](const Search *search) { return search->is_decided(); };
    open_.erase(std::remove_if(open_.begin(), open_.end(), is_decided), open_.end());
    while (open_.size() < SLOTS && opened_ < searches_.size()) open_.push_back(&searches_[opened_++]);
    Search *best = nullptr;
    for (Search *search : open_)
      if (search->has_work() && (best == nullptr || search->running() < best->running())) best = search;
    return best;
  }

 private:
  std::vector<Search> &searches_;
  std::vector<Search *> open_;
  size_t opened_ = 0;
};

// Runs the searches until all are decided.
static Total solve(std::vector<Search> &searches, const Gpu &gpu) {
  std::array<Slot, SLOTS> slots;
  const Stream control = make_stream();
  Turns turns(searches);
  Pace pace(RANGE_SECONDS);
  for (;;) {
    bool is_busy = false, has_started = false;
    for (Slot &slot : slots) {
      if (slot.search != nullptr && IS_READY(cudaEventQuery(slot.done.get()))) {
        const Search &search = *slot.search;
        const bool was_decided = search.is_decided();
        collect(slot, pace);
        if (search.is_decided() && !was_decided) report(search, searches.size());
      }
      if (slot.search == nullptr) {
        Search *const search = turns.next();
        if (search == nullptr) continue;
        start(slot, *search, gpu, pace);
        has_started = true;
      }
      if (slot.range.from >= slot.search->best() && !slot.is_cancelled) cancel(slot, control);
      is_busy = true;
    }
    if (!is_busy) return pace.total();
    if (!has_started) nap();
  }
}`;
