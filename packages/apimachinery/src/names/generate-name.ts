// Generates a unique name from a prefix, for `metadata.generateName`.
// Source: k8s.io/apiserver/pkg/storage/names/generate.go, k8s.io/apimachinery/pkg/util/rand/rand.go

/** Source of random bytes; a seeded one makes names repeatable in tests. */
export type RandomSource = {
  readonly bytes: (count: number) => Uint8Array;
};

/** No vowels, 0, 1 or 3, so that no name reads as a word. */
export const NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
export const GENERATED_SUFFIX_LENGTH = 5;
export const MAX_GENERATED_NAME_LENGTH = 63;

const MAX_PREFIX_BYTES = MAX_GENERATED_NAME_LENGTH - GENERATED_SUFFIX_LENGTH;
/** The bytes from here up would favour the first letters. */
const UNBIASED_BYTES = 256 - (256 % NAME_ALPHABET.length);

/** The prefix, cut so that the result fits 63 bytes, and five random characters. */
export function generateName(prefix: string, random: RandomSource): string {
  return cutToBytes(prefix, MAX_PREFIX_BYTES) + randomSuffix(GENERATED_SUFFIX_LENGTH, random);
}

/** Characters of the alphabet above, each equally likely. */
export function randomSuffix(length: number, random: RandomSource): string {
  let suffix = "";
  while (suffix.length < length) {
    for (const byte of random.bytes(length)) {
      if (byte < UNBIASED_BYTES && suffix.length < length) suffix += NAME_ALPHABET.charAt(byte % NAME_ALPHABET.length);
    }
  }
  return suffix;
}

function cutToBytes(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}
