import { GridOrder, QUEUE_STATE_WORDS, QUEUE_TIMES } from '../../../kernel/abi/resident-abi.js';

/** The pipeline `persistent`: one grid stays on the GPU and takes ranges from a queue in the host's memory. */
export const persistent = `// One grid of thread blocks stays on the GPU while a block is searched. The host writes ranges, called entries, to a queue
// in its own memory and raises the queue's tail. One thread block, the watch, polls the tail and copies new entries to the
// device. The others share each entry: they take its parts by a counter. The one that finishes an entry's last part copies
// the hits to the host's memory and raises the entry's flag. No thread waits for the host between two ranges.

// Entries that the queue holds. Entry n is in slot n mod CAPACITY.
constexpr u32 CAPACITY_LOG = 3, CAPACITY = 1u << CAPACITY_LOG;

// The least number of parts that an entry has for each thread block of the grid. Without small parts, the last one would
// keep an entry waiting.
constexpr u32 PARTS_PER_BLOCK = 4;

// How long an entry takes. A thread block that gets little of its multiprocessor may hold its part until the queue is empty
// and the others wait, so that a hit is seen when all entries are finished. On an H200 eight entries of 8 ms find a nonce up
// to 45 ms late; entries of 1 ms, up to 5 ms, and the rate is 0.8 % lower.
constexpr double RANGE_SECONDS = 0.001;

// The host's orders to a grid. A grid that leaves takes no more parts; one that stops also drops the parts it has taken.
enum Order : u64 { RUN = ${GridOrder.run}, LEAVE = ${GridOrder.leave}, STOP = ${GridOrder.stop} };

// Where a launch must not take long, the grid leaves after this time, and the next one resumes its work.
constexpr double MAX_LAUNCH_SECONDS = 0.5;
// A grid that has work and finishes nothing for this long has failed.
constexpr double MAX_ENTRY_SECONDS = 10;

// Accesses to memory that a running grid also uses: never left out or reordered.
static u64 observe(const u64 &word) {
  const u64 value = *static_cast<const volatile u64 *>(&word);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return value;
}
static void publish(u64 &word, u64 value) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  *static_cast<volatile u64 *>(&word) = value;
}

// The queue and the grid that takes from it. Grids run one after the other, since each belongs to one block.
class Queue {
 public:
  ~Queue() {
    give(STOP);
    cudaStreamSynchronize(stream_.get());
  }

  // Launches a grid for a block, with an empty queue.
  void launch(const Search &search, const Gpu &gpu) {
    Launch launch = search.launch;
    launch.words[PARTS_LOG] = static_cast<u32>(std::ceil(std::log2(PARTS_PER_BLOCK * gpu.resident_blocks)));
    launch.words[SLOTS_LOG] = CAPACITY_LOG;
    launch.words[WORDS_OF_RING] = RING_WORDS;
    launch.words[PROCESSORS] = launch.words[OWN_PROCESSORS] = gpu.processors;
    tail_ = 0;
    order_ = RUN;
    for (Entry &entry : pending_) entry.is_pending = false;
    std::fill_n(control_.get(), 2, 0);
    std::fill_n(flags_.get(), CAPACITY, 0);
    const cudaStream_t stream = stream_.get();
    CUDA(cudaMemsetAsync(state_.get(), 0, STATE_WORDS * sizeof(u64), stream));
    CUDA(cudaMemsetAsync(done_.get(), 0, CAPACITY * sizeof(u32), stream));
    CUDA(cudaMemsetAsync(found_.get(), 0, CAPACITY * RING_WORDS * sizeof(u32), stream));
    search_nonces<<<gpu.resident_blocks, THREADS, 0, stream>>>(
        launch, state_.get(), done_.get(), queue_.get(), found_.get(), reinterpret_cast<const u32 *>(control_.get()),
        entries_.get(), times_.get(), flags_.get(), rings_.get());
    CUDA(cudaGetLastError());
  }

  bool has_ended() const { return IS_READY(cudaStreamQuery(stream_.get())); }

  bool has_room() const { return order_ == RUN && !pending_[tail_ % CAPACITY].is_pending; }

  void push(const Range &range) {
    const u32 slot = tail_ % CAPACITY;
    pending_[slot] = {range, tail_, true};
    entries_[slot * ENTRY_WORDS + ENTRY_LAST] = static_cast<u32>(range.count - 1);
    entries_[slot * ENTRY_WORDS + ENTRY_BASE] = static_cast<u32>(range.from);
    publish(control_[0], ++tail_);
  }

  // An order is final: a later one can only be stricter.
  void give(Order order) {
    if (order <= order_) return;
    order_ = order;
    publish(control_[1], order << 32);
  }

  // Passes finished entries to the search. Returns how many there were.
  int collect(Search &search, Pace &pace) {
    int count = 0;
    for (u32 slot = 0; slot < CAPACITY; slot++) {
      Entry &entry = pending_[slot];
      if (!entry.is_pending || observe(flags_[slot]) != entry.number + 1) continue;
      entry.is_pending = false;
      search.finish(entry.range, &rings_[slot * RING_WORDS]);
      pace.add(entry.range.count);
      count++;
    }
    return count;
  }

  // After the end of a grid: returns the entries that it did not finish.
  void give_back(Search &search) {
    for (Entry &entry : pending_) {
      if (entry.is_pending) search.give_back(entry.range);
      entry.is_pending = false;
    }
  }

 private:
  struct Entry {
    Range range;
    u64 number;
    bool is_pending;
  };
  static constexpr u32 STATE_WORDS = ${QUEUE_STATE_WORDS};

  u64 tail_ = 0;
  Order order_ = STOP;
  std::array<Entry, CAPACITY> pending_ = {};
  const Stream stream_ = make_stream();
  // In the host's page-locked memory, whose address is the same on the device. Written by the host: the tail; the order,
  // in the upper half of its word; the entries.
  const HostArray<u64> control_ = make_host_array<u64>(2);
  const HostArray<u32> entries_ = make_host_array<u32>(CAPACITY * ENTRY_WORDS);
  // Written by the grid, for each slot: a flag, which is the entry's number plus 1; when it began, ended, was seen; its hits.
  const HostArray<u64> flags_ = make_host_array<u64>(CAPACITY);
  const HostArray<u64> times_ = make_host_array<u64>(${QUEUE_TIMES} * CAPACITY);
  const HostArray<u32> rings_ = make_host_array<u32>(CAPACITY * RING_WORDS);
  // In the device's memory: the grid's state; for each slot the number of finished parts, a copy of the entry, the hits.
  const DeviceArray<u64> state_ = make_device_array<u64>(STATE_WORDS);
  const DeviceArray<u32> done_ = make_device_array<u32>(CAPACITY);
  const DeviceArray<u32> queue_ = make_device_array<u32>(CAPACITY * ENTRY_WORDS);
  const DeviceArray<u32> found_ = make_device_array<u32>(CAPACITY * RING_WORDS);
};

// Runs one grid until its block is decided, or until the grid leaves: what it did not finish is then searched by the next.
static void run_grid(Search &search, Queue &queue, const Gpu &gpu, Pace &pace) {
  const double begin = pace.seconds();
  double last_progress = begin;
  queue.launch(search, gpu);
  while (!queue.has_ended()) {
    while (search.has_work() && queue.has_room()) queue.push(search.take(pace.count(gpu.resident_blocks)));
    if (queue.collect(search, pace) > 0) last_progress = pace.seconds();
    else nap();
    if (search.is_decided()) queue.give(STOP);
    if (gpu.limits_run_time && pace.seconds() - begin > MAX_LAUNCH_SECONDS) queue.give(LEAVE);
    if (pace.seconds() - last_progress > MAX_ENTRY_SECONDS)
      throw Failure{DEVICE_FAILED, "the GPU has finished nothing for " + std::to_string(MAX_ENTRY_SECONDS) + " seconds"};
  }
  queue.collect(search, pace);
  queue.give_back(search);
}

// Runs the searches until all are decided, one after the other.
static Total solve(std::vector<Search> &searches, const Gpu &gpu) {
  Queue queue;
  Pace pace(RANGE_SECONDS);
  for (Search &search : searches) {
    while (!search.is_decided()) run_grid(search, queue, gpu, pace);
    report(search, searches.size());
  }
  return pace.total();
}`;
