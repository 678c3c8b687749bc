/** The search of one block, the same in all pipelines. */
export const search = String.raw`constexpr u64 NONCES = 1ull << 32;

// Where the search of a block (numbered from 0) begins. A test may start close to the answer.
#ifndef FIRST_NONCE
#define FIRST_NONCE(number) 0
#endif

// A kernel stores its hits in a ring: word 0 counts them; from word 4 on, each has two words, the second is the nonce.
constexpr u32 RING_HITS = 1024;
constexpr u32 RING_HEADER = 4;
constexpr u32 RING_WORDS = RING_HEADER + 2 * RING_HITS;

// Consecutive nonces.
struct Range {
  u64 from, count;
};

// The search for the smallest valid nonce of one block. It gives out ranges in ascending order and takes their hits. A hit
// is certain to be the smallest once every range that begins below it is finished.
class Search {
 public:
  Search(const Block &block, size_t number)
      : block(block), number(number), launch(make_launch(block, RING_HITS)), next_(FIRST_NONCE(number)) {
    // Easy targets have many hits. A range has 64 on average, so that they fit the ring.
    double target = 0;
    for (const u32 word : block.target) target = target * 0x1p32 + word;
    max_count_ = static_cast<u64>(std::min(64 * 0x1p256 / target + 1, 0x1p32));
  }

  const Block block;
  const size_t number;
  const Launch launch;  // the words of a launch that are the same for every range

  // The smallest valid nonce so far; NONCES if there is none.
  u64 best() const { return best_; }
  size_t running() const { return running_.size(); }
  bool has_work() const { return !again_.empty() || next_ < best_; }

  // True if no range that begins below the best nonce is left.
  bool is_decided() const { return !has_work() && (running_.empty() || *running_.begin() >= best_); }

  // Returns the next range, of at most that many nonces.
  Range take(u64 count) {
    Range range = {next_, std::min({count, max_count_, NONCES - next_})};
    if (again_.empty()) {
      next_ += range.count;
    } else {
      range = {again_.begin()->first, again_.begin()->second};
      again_.erase(again_.begin());
    }
    running_.insert(range.from);
    return range;
  }

  // Takes the hits of a finished range. If they did not fit the ring, its halves are searched again. Every nonce is hashed
  // once more, by other code than the GPU's. A wrong one is an error, and is never written.
  void finish(const Range &range, const u32 *ring) {
    running_.erase(range.from);
    if (ring[0] > RING_HITS) {
      const u64 half = range.count / 2;
      again_[range.from] = half;
      again_[range.from + half] = range.count - half;
    }
    for (u32 hit = 0; hit < std::min(ring[0], RING_HITS); hit++) {
      const u32 nonce = ring[RING_HEADER + 2 * hit + 1];
      if (nonce < range.from || nonce - range.from >= range.count || !is_valid(block, nonce))
        throw Failure{DEVICE_FAILED, "the GPU found nonce " + std::to_string(nonce) + " for block " +
                                         std::to_string(number + 1) + ", which is not valid"};
      best_ = std::min<u64>(best_, nonce);
    }
    drop_above_best();
  }

  // Takes back a range that was not finished. It is searched again if it begins below the best nonce.
  void give_back(const Range &range) {
    running_.erase(range.from);
    again_[range.from] = range.count;
    drop_above_best();
  }

 private:
  void drop_above_best() { again_.erase(again_.lower_bound(best_), again_.end()); }

  u64 next_;                   // nonces from here on have not been given out
  u64 best_ = NONCES;
  u64 max_count_;
  std::map<u64, u64> again_;   // ranges to search again: where they begin, and their counts
  std::set<u64> running_;      // where running ranges begin
};

// What all searches took.
struct Total {
  u64 nonces;
  double seconds;
};

// Counts nonces from the first launch on, and chooses how long ranges are: as many nonces as the GPU tries in that time, by
// its rate so far. Long ranges keep the GPU busy, short ones waste less after a hit.
class Pace {
 public:
  explicit Pace(double range_seconds) : range_seconds_(range_seconds) {}

  // The first ranges, before a rate is known, have 32 nonces for each thread that runs at a time.
  u64 count(u64 resident_blocks) const {
    if (tried_ == 0) return 32 * resident_blocks * THREADS;
    const u64 wanted = static_cast<u64>(static_cast<double>(tried_) / seconds() * range_seconds_);
    return std::max<u64>(wanted / THREADS, 1) * THREADS;
  }
  void add(u64 nonces) { tried_ += nonces; }
  Total total() const { return {tried_, seconds()}; }
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  const double range_seconds_;
  u64 tried_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Sleeps until the GPU may have something new. The thread does not spin: the host's cores stay free.
static void nap() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

// Reports a block that is decided.
static void report(const Search &search, size_t blocks) {
  const std::string which = "block " + std::to_string(search.number + 1) + " of " + std::to_string(blocks);
  const std::string text = search.best() < NONCES
                               ? which + ": " + nonce_text(static_cast<u32>(search.best()))
                               : "warning: " + which + " has no valid nonce; 00000000 stands in its place";
  std::fprintf(stderr, "%s\n", text.c_str());
}`;
