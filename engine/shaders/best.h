// The K best of many, without a sort: every candidate is one 64-bit key, larger is better, and no two
// are equal. Where candidates lie in sorted lists, only the K lists with the best heads matter, and
// a key's rank is the number of larger ones.

// A finite or infinite score and an id; equal scores rank by the lower id.
inline ulong best_key(float score, uint id) {
  uint bits = as_type<uint>(score + 0.0f);  // -0 is 0
  uint ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
  return (ulong(ordered) << 32) | ~id;
}

inline float key_score(ulong key) {
  uint ordered = uint(key >> 32);
  return as_type<float>(ordered >> 31 ? ordered & 0x7fffffffu : ~ordered);
}

inline uint key_id(ulong key) {
  return ~uint(key);
}

template <int COUNT>
inline void sort_descending(thread ulong* keys) {
#pragma unroll
  for (int i = 1; i < COUNT; i++) {
#pragma unroll
    for (int j = i; j > 0; j--) {
      ulong larger = keys[j] > keys[j - 1] ? keys[j] : keys[j - 1];
      ulong smaller = keys[j] > keys[j - 1] ? keys[j - 1] : keys[j];
      keys[j - 1] = larger;
      keys[j] = smaller;
    }
  }
}
