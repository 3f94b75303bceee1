// Amounts of resources, such as `500m` and `1Gi`, exact to the nano.
// Source: k8s.io/apimachinery/pkg/api/resource/quantity.go

import { EXTENSION_TYPES } from "../cel-type.ts";
import { CelExtension, type CelValue, failCel } from "../cel-value.ts";

const NANO = 1_000_000_000n;
const NANO_DIGITS = 9;
/** Decimal digits that surely fit an int64. */
const FAST_DIGITS = 18;
const MAX_INT64 = 2n ** 63n - 1n;

class Quantity extends CelExtension {
  readonly typeName = EXTENSION_TYPES.quantity;
  readonly nanos: bigint;
  /** The power of ten that upstream counts in; undefined where it keeps the number as a decimal of any size. */
  readonly scale: number | undefined;

  constructor(nanos: bigint, scale: number | undefined) {
    super();
    this.nanos = nanos;
    this.scale = scale;
  }

  equals(other: CelExtension): boolean {
    return other instanceof Quantity && other.nanos === this.nanos;
  }

  /** Undefined also for whole numbers that were written in parts, such as `1000m`. */
  get integer(): bigint | undefined {
    const value = this.nanos / NANO;
    const isWhole = this.scale !== undefined && this.scale >= 0;
    return isWhole && value <= MAX_INT64 && value >= -MAX_INT64 - 1n ? value : undefined;
  }

  add(other: Quantity): Quantity {
    if (this.nanos === 0n) return other;
    const scale =
      this.scale === undefined || other.scale === undefined
        ? undefined
        : other.nanos === 0n
          ? this.scale
          : Math.min(this.scale, other.scale);
    return new Quantity(this.nanos + other.nanos, scale);
  }

  negated(): Quantity {
    return new Quantity(-this.nanos, this.scale);
  }
}

export const wholeQuantity = (value: bigint): Quantity => new Quantity(value * NANO, 0);

/** Reading very many digits takes more than linear time, and so does work on such numbers. */
const MAX_LENGTH = 1_024;
const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d+|[EPTGMK]i|[numkMGTPE]?)$/;

const DECIMAL_EXPONENTS: { readonly [suffix: string]: number } = {
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY_SUFFIXES = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** Undefined if the text is not a quantity. Parts below a nano are rounded up, away from 0. */
export function parseQuantity(text: string): Quantity | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const [, sign, whole = "", fraction = "", suffix = ""] = QUANTITY.exec(text) ?? [];
  if (sign === undefined || (whole === "" && fraction === "")) return undefined;
  const digits = `${whole}${fraction}`.replace(/^0+(?=\d)/, "");
  const binary = BINARY_SUFFIXES.indexOf(suffix);
  const exponent = binary === -1 ? (DECIMAL_EXPONENTS[suffix] ?? Number(suffix.slice(1))) : 0;
  // An int32 upstream; a larger exponent would make a number of as many digits.
  if (Math.abs(exponent) > 1_000) return undefined;
  const factor = binary === -1 ? 1n : 1024n ** BigInt(binary + 1);
  const power = exponent - fraction.length + NANO_DIGITS;
  const amount = BigInt(digits) * factor;
  const nanos = power >= 0 ? amount * 10n ** BigInt(power) : divideUp(amount, 10n ** BigInt(-power));
  return new Quantity(
    sign === "-" ? -nanos : nanos,
    fastScale(whole.length + fraction.length, fraction, exponent, binary),
  );
}

const divideUp = (amount: bigint, by: bigint): bigint => (amount + by - 1n) / by;

function fastScale(digits: number, fraction: string, exponent: number, binary: number): number | undefined {
  if (binary !== -1) {
    const precision = 15 - digits - Math.trunc(((binary + 1) * 10 * 3) / 10) - 1;
    return fraction === "" && precision >= 0 ? 0 : undefined;
  }
  const scale = exponent - fraction.length;
  return digits <= FAST_DIGITS && scale >= -NANO_DIGITS ? scale : undefined;
}

/** Throws CelEvaluationError. */
export const readQuantity = (text: string): Quantity =>
  parseQuantity(text) ??
  failCel("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");

export const asQuantity = (value: CelValue): Quantity =>
  value instanceof Quantity ? value : failCel("no such overload");
