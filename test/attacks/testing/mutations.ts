// Seeded inputs that are nearly right: texts of a grammar, and what is left of them when bytes are changed, doubled, cut and mixed.

export type Chance = {
  /** From 0 up to `below`. */
  index(below: number): number;
  pick<T>(list: readonly T[]): T;
};

/** The same numbers for the same seed. Source: Steele, Lea, Flood, Fast splittable pseudorandom number generators (2014), as mulberry32 */
export function createChance(seed: number): Chance {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const index = (below: number): number => Math.floor(next() * below);
  return {
    index,
    pick(list) {
      const [found] = list.slice(index(list.length));
      if (found === undefined) throw new RangeError("nothing to pick from");
      return found;
    },
  };
}

/** Pieces that parsers treat in ways of their own. */
const PIECES = [
  '"',
  "'",
  "\\",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "\n",
  "\t",
  "\0",
  "\ufeff",
  "\ud800",
  "é",
  "0",
  "-1",
  "1e400",
  "9007199254740993",
  "-0",
  "null",
  "true",
  '"__proto__":',
  '"constructor":{"prototype":{"polluted":1}}',
  "&a ",
  "*a",
  "<<: ",
  "!!binary ",
  "!!int x",
  "---\n",
  "? ",
  "- ",
  "|\n",
  "%",
  "#",
  "~0",
  "~1",
  "~2",
  "/-",
  "/0",
  "/01",
  "==",
  "!=",
  " in (",
  ")",
  " notin (",
  "!",
  "\\,",
  "\\u0000",
  "$(x)",
  "a".repeat(300),
];

/** A few changes of a text. */
export function mutate(text: string, chance: Chance): string {
  let result = text;
  for (let left = 1 + chance.index(4); left > 0; left--) {
    const at = chance.index(result.length + 1);
    const end = at + chance.index(12);
    switch (chance.index(6)) {
      case 0:
        result = result.slice(0, at) + result.slice(end);
        break;
      case 1:
        result = result.slice(0, at) + chance.pick(PIECES) + result.slice(at);
        break;
      case 2:
        result = result.slice(0, end) + result.slice(at);
        break;
      case 3:
        result = result.slice(0, at) + String.fromCharCode(chance.index(256)) + result.slice(at + 1);
        break;
      case 4:
        result = result.slice(0, at);
        break;
      default:
        result = result.slice(0, at) + chance.pick(PIECES).repeat(1 + chance.index(50)) + result.slice(end);
    }
  }
  return result;
}

export function mutateBytes(bytes: Uint8Array, chance: Chance): Buffer {
  const result = [...bytes];
  for (let left = 1 + chance.index(6); left > 0; left--) {
    const at = chance.index(result.length);
    if (chance.index(3) === 0)
      result.splice(at, chance.index(4), ...Array.from({ length: chance.index(4) }, () => chance.index(256)));
    else
      result[at] = chance.pick([
        0,
        1,
        0x7f,
        0x80,
        0x84,
        0xff,
        chance.index(256),
        (result[at] ?? 0) ^ (1 << chance.index(8)),
      ]);
  }
  return Buffer.from(result);
}

/** A JSON value, with names and values that mean something to Kubernetes here and there. */
export function anyValue(chance: Chance, depth = 4): unknown {
  const names = [
    "metadata",
    "spec",
    "status",
    "name",
    "kind",
    "apiVersion",
    "labels",
    "__proto__",
    "toString",
    "items",
    "",
    "a/b",
    "finalizers",
    "ttl",
  ];
  switch (chance.index(depth > 0 ? 9 : 7)) {
    case 0:
      return null;
    case 1:
      return chance.index(2) === 0;
    case 2:
      return chance.pick([0, -1, 1.5, 1e308, 2 ** 53, -(2 ** 63), 4_294_967_296]);
    case 3:
      return chance.pick(names);
    case 4:
      return chance.pick(PIECES);
    case 5:
      return [];
    case 6:
      return {};
    case 7:
      return Array.from({ length: chance.index(5) }, () => anyValue(chance, depth - 1));
    default:
      // JSON.parse makes __proto__ a member like any other.
      return JSON.parse(
        `{${Array.from({ length: chance.index(5) }, () => `${JSON.stringify(chance.pick(names))}:${JSON.stringify(anyValue(chance, depth - 1))}`).join(",")}}`,
      );
  }
}
