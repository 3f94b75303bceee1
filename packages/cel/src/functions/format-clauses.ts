// Reads the clauses of a format, such as `%s` and `%.3f`.
// Source: github.com/google/cel-go/ext/formatting.go (parseFormatString)

/** The format, or an argument of it, has a fault. */
export class FormatError extends Error {
  override readonly name = "FormatError";
}

export const VERBS = ["s", "d", "f", "e", "b", "x", "X", "o"] as const;
export type FormatVerb = (typeof VERBS)[number];

export type FormatClause = {
  /** Which argument. */
  readonly index: number;
  readonly verb: FormatVerb;
  readonly precision: number | undefined;
};

const MAX_INT = 2n ** 63n - 1n;
const fail = (why: string): never => {
  throw new FormatError(why);
};

/** The texts and clauses of a format for `count` arguments, in their order. Throws FormatError. */
export function* formatPartsOf(template: string, count: number): Generator<string | FormatClause> {
  let index = 0;
  for (let at = 0; at < template.length; ) {
    const percent = template.indexOf("%", at);
    if (percent !== at) yield template.slice(at, percent === -1 ? undefined : percent);
    if (percent === -1) return;
    at = percent + 1;
    if (template[at] === "%") {
      yield "%";
      at++;
      continue;
    }
    if (at === template.length) fail("unexpected end of string");
    if (index >= count) fail(`index ${index} out of range`);
    const [, digits] = /^\.(\d*)/.exec(template.slice(at)) ?? [];
    if (digits !== undefined) at += digits.length + 1;
    const precision = digits === undefined ? undefined : precisionOf(digits, at === template.length);
    const verb = VERBS.find((each) => each === template[at]);
    if (verb === undefined) {
      // A byte of a longer character stands alone in the message.
      const byte = String.fromCharCode(Buffer.from(template.slice(at))[0] ?? 0);
      return fail(`could not parse formatting clause: unrecognized formatting clause "${byte}"`);
    }
    yield { index, verb, precision };
    at++;
    index++;
  }
}

function precisionOf(digits: string, isEnd: boolean): number {
  const why = "could not parse formatting clause: error while parsing precision: ";
  if (isEnd) fail(`${why}could not find end of precision specifier`);
  const refuse = (what: string): never =>
    fail(`${why}error while converting precision to integer: strconv.Atoi: parsing "${digits}": ${what}`);
  if (digits === "") return refuse("invalid syntax");
  return BigInt(digits) > MAX_INT ? refuse("value out of range") : Number(digits);
}

const ACCEPTED: { readonly [verb in FormatVerb]: string } = {
  s: "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
  d: "decimal clause can only be used on integers",
  f: "fixed-point clause can only be used on doubles",
  e: "scientific clause can only be used on doubles",
  b: "only integers and bools can be formatted as binary",
  x: "only integers, byte buffers, and strings can be formatted as hex",
  X: "only integers, byte buffers, and strings can be formatted as hex",
  o: "octal clause can only be used on integers",
};

/** The fault of an argument of a type that the clause does not take. */
export const argumentFault = (verb: FormatVerb, typeName: string): string =>
  `error during formatting: ${ACCEPTED[verb]}, was given ${typeName}`;
