// Amounts such as `500m`, `1Gi` or `2`: read exactly, and written in the one form that Go has for each.
// Source: k8s.io/apimachinery/pkg/api/resource/quantity.go (ParseQuantity, CanonicalizeBytes)

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d{1,3}|[EPTGMK]i|[numkMGTPE]?)$/;
/** Reading very many digits takes more than linear time. */
const MAX_LENGTH = 256;
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/** Parts below a nano are dropped. */
const NANO_DIGITS = 9;
const NANOS = 1_000_000_000n;

type Read = { readonly nanos: bigint; readonly form: "binary" | "decimal" | "exponent" };

/** In nanos; undefined if the text is not a quantity. */
export const parseAmount = (text: string): bigint | undefined => read(text)?.nanos;

function read(text: string): Read | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const [, sign, whole = "", fraction = "", suffix = ""] = QUANTITY.exec(text) ?? [];
  if (sign === undefined || `${whole}${fraction}` === "") return undefined;
  const binary = BINARY.indexOf(suffix);
  const hasExponent = /^[eE]\S/.test(suffix);
  const exponent = hasExponent ? Number(suffix.slice(1)) : binary >= 0 ? 0 : (DECIMAL.indexOf(suffix) - 3) * 3;
  const power = exponent - fraction.length + NANO_DIGITS;
  const digits = BigInt(`${whole}${fraction}`) * (binary >= 0 ? 1024n ** BigInt(binary + 1) : 1n);
  const nanos = power >= 0 ? digits * 10n ** BigInt(power) : digits / 10n ** BigInt(-power);
  return {
    nanos: sign === "-" ? -nanos : nanos,
    form: hasExponent ? "exponent" : binary >= 0 ? "binary" : "decimal",
  };
}

/** The sum of two quantities as Go writes it: in the form of the first, or of the second where the first is 0. */
export function addQuantities(first: string, second: string): string {
  const [a, b] = [read(first), read(second)];
  const nanos = (a?.nanos ?? 0n) + (b?.nanos ?? 0n);
  return written({ nanos, form: ((a?.nanos ?? 0n) === 0n ? b?.form : a?.form) ?? "decimal" });
}

/** The text that Go writes for the same amount: `1024Mi` is `1Gi`, `0.5` is `500m`. Undefined if the text is not a quantity. */
export function canonicalQuantity(text: string): string | undefined {
  const found = read(text);
  return found === undefined ? undefined : written(found);
}

function written({ nanos, form }: Read): string {
  if (nanos === 0n) return "0";
  const isSmall = nanos > -1024n * NANOS && nanos < 1024n * NANOS;
  if (form === "binary" && !isSmall && nanos % NANOS === 0n) return inBinary(nanos / NANOS);
  return inDecimal(nanos, form === "exponent");
}

function inBinary(amount: bigint): string {
  let [rest, power] = [amount, 0];
  for (; rest % 1024n === 0n && power < BINARY.length; power++) rest /= 1024n;
  return `${rest}${power === 0 ? "" : BINARY[power - 1]}`;
}

/** The exponent is the highest multiple of three that leaves a whole number. */
function inDecimal(nanos: bigint, withExponent: boolean): string {
  let [rest, exponent] = [nanos, -NANO_DIGITS];
  const highest = withExponent ? Number.POSITIVE_INFINITY : 18;
  while (rest % 1000n === 0n && exponent < highest) {
    rest /= 1000n;
    exponent += 3;
  }
  if (withExponent) return `${rest}${exponent === 0 ? "" : `e${exponent}`}`;
  return `${rest}${DECIMAL[exponent / 3 + 3]}`;
}
