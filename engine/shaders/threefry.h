// MLX's random numbers, to the bit: Threefry-2x32 with 20 rounds (Salmon et al., SC 2011), a key of two
// words, and the counters that `mx.random` uses.

struct Words {
  uint x, y;
};

inline Words threefry(Words key, uint x, uint y) {
  uint schedule[3] = {key.x, key.y, key.x ^ key.y ^ 0x1bd11bdau};
  uint rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  x += schedule[0];
  y += schedule[1];
  for (uint block = 0; block < 5; block++) {
    for (uint i = 0; i < 4; i++) {
      uint rotation = rotations[(block % 2) * 4 + i];
      x += y;
      y = (y << rotation) | (y >> (32 - rotation));
      y ^= x;
    }
    x += schedule[(block + 1) % 3];
    y += schedule[(block + 2) % 3] + block + 1;
  }
  return Words{x, y};
}

// Word `index` of the `count` that `mx.random.bits` draws with this key.
inline uint random_word(Words key, uint index, uint count) {
  uint half_count = (count + 1) / 2;
  bool upper = index >= half_count;
  uint low = upper ? index - half_count : index;
  uint high = low + half_count < count ? low + half_count : 0;
  Words pair = threefry(key, low, high);
  return upper ? pair.y : pair.x;
}

// Number `index` of `mx.random.gumbel` of `count`.
inline float gumbel(Words key, uint index, uint count) {
  float below_one = 0.99999994f;
  float chance = metal::min(float(random_word(key, index, count)) / 4294967296.0f, below_one);
  return -metal::log(-metal::log(chance));
}
