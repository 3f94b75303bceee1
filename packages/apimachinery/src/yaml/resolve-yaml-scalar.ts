// Meaning of an unquoted YAML scalar under YAML 1.1 as Go's parser reads it.
// Source: sigs.k8s.io/yaml/goyaml.v2/resolve.go

/** The text of an unquoted scalar that merges another mapping into its own. */
export const MERGE_KEY = "<<";

const WORDS: ReadonlyMap<string, boolean | null | number> = new Map<string, boolean | null | number>([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, Number.NaN] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, Number.POSITIVE_INFINITY] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, Number.NEGATIVE_INFINITY] as const),
]);

const INTEGER = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))$/;
const FLOAT = /^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;
const MAX_UINT64 = 2n ** 64n - 1n;
const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);
/** 64 binary digits and a sign; longer ones cannot be exact integers. */
const MAX_INTEGER_LENGTH = 70;

/**
 * `yes` is true, `010` is 8, `1_000` is 1000, `1e3` is 1000; dates and sexagesimal numbers stay text. Infinities and
 * NaN come back as such, and have no JSON form.
 */
export function resolveYamlScalar(text: string): string | number | bigint | boolean | null {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  if (!/^[-+.0-9]/.test(text)) return text;
  // Digits may be grouped by underscores, but not in what begins with a dot.
  const plain = text.startsWith(".") ? text : text.replaceAll("_", "");
  return resolveInteger(plain) ?? resolveFloat(plain) ?? text;
}

function resolveInteger(plain: string): number | bigint | undefined {
  if (plain.length > MAX_INTEGER_LENGTH) return undefined;
  const match = INTEGER.exec(plain);
  if (match === null) return undefined;
  const [, sign, hex, binary, octal, decimal] = match;
  const magnitude = BigInt(
    hex !== undefined
      ? `0x${hex}`
      : binary !== undefined
        ? `0b${binary}`
        : octal !== undefined
          ? `0o${octal}`
          : (decimal ?? 0),
  );
  const value = sign === "-" ? -magnitude : magnitude;
  if (value < MIN_INT64 || value > MAX_UINT64) return undefined;
  const rounded = Number(value);
  // YAML knows integers up to uint64, but JSON, which it is made into first, only those within int64.
  return Number.isSafeInteger(rounded) || value > MAX_INT64 ? rounded : value;
}

function resolveFloat(plain: string): number | undefined {
  if (!FLOAT.test(plain)) return undefined;
  const value = Number(plain);
  return Number.isFinite(value) ? value : undefined;
}
