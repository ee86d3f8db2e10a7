// MLX's affine quantization: a weight is scale * q + bias, q unsigned, low bits first in uint32
// words, one scale and bias for GROUP weights of a row. Products are taken by chunks of 16 weights;
// GROUP is 32, 64 or 128, so a chunk lies in one group.
//
// The form of the 4-bit product is that of MLX's own kernels: a nibble is masked where it stands
// and the activation carries the power of 16, which saves a shift a weight.

constant constexpr int CHUNK = 16;

// The words of a chunk. Packed: what lies in memory is aligned to 4 bytes at least.
template <int BITS>
struct Chunk {
  typedef packed_uint4 Words;
};
template <>
struct Chunk<4> {
  typedef packed_uint2 Words;
};

template <typename T>
struct Bits {
  typedef ushort type;
};
template <>
struct Bits<float> {
  typedef uint type;
};

inline uint word_at(packed_uint4 words, int i) {
  return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
}

// Activation i of those in `words`.
template <typename T>
inline float activation(const thread packed_uint4* words, int i) {
  constexpr int IN_WORD = 4 / sizeof(T);
  uint word = word_at(words[i / (4 * IN_WORD)], i / IN_WORD % 4);
  typename Bits<T>::type bits = word >> (IN_WORD == 2 ? 16 * (i % 2) : 0);
  return float(as_type<T>(bits));
}

// What activation i of a chunk is multiplied with before `dot`.
template <int BITS>
inline float chunk_scale(int i) {
  return BITS == 8 ? 1.0f : 1.0f / float(1 << (4 * (i % 4)));
}

inline float dot_nibbles(uint word, const thread float* x) {
  uint low = word & 0xffff;
  uint high = word >> 16;
  return float(low & 0x000f) * x[0] + float(low & 0x00f0) * x[1] + float(low & 0x0f00) * x[2] +
      float(low & 0xf000) * x[3] + float(high & 0x000f) * x[4] + float(high & 0x00f0) * x[5] +
      float(high & 0x0f00) * x[6] + float(high & 0xf000) * x[7];
}

inline float dot_bytes(uint word, const thread float* x) {
  return float(word & 0xff) * x[0] + float((word >> 8) & 0xff) * x[1] +
      float((word >> 16) & 0xff) * x[2] + float(word >> 24) * x[3];
}

inline float dot(packed_uint2 words, const thread float* x) {
  return dot_nibbles(words.x, x) + dot_nibbles(words.y, x + 8);
}

inline float dot(packed_uint4 words, const thread float* x) {
  return dot_bytes(words.x, x) + dot_bytes(words.y, x + 4) + dot_bytes(words.z, x + 8) +
      dot_bytes(words.w, x + 12);
}
