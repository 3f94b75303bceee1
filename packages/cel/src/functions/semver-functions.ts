// Versions of software, such as `1.2.3-rc.1`.
// Source: k8s.io/apiserver/pkg/cel/library/semverlib.go, https://semver.org

import { EXTENSION_TYPES } from "../cel-type.ts";
import { CelExtension, type CelValue, failCel } from "../cel-value.ts";
import { type CelOverload, celFunction, celMethod } from "./overload.ts";

class Semver extends CelExtension {
  readonly typeName = EXTENSION_TYPES.semver;
  readonly numbers: readonly bigint[];
  readonly preRelease: readonly string[];

  constructor(numbers: readonly bigint[], preRelease: readonly string[]) {
    super();
    this.numbers = numbers;
    this.preRelease = preRelease;
  }

  equals(other: CelExtension): boolean {
    return compare(this, other) === 0;
  }
}

const NUMBER = "(0|[1-9]\\d*)";
const PART = "(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)";
const SEMVER = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-(${PART}(?:\\.${PART})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
);
const MAX_LENGTH = 1_024;

function parseSemver(text: string): Semver | undefined {
  const match = text.length > MAX_LENGTH ? null : SEMVER.exec(text);
  if (match === null) return undefined;
  const [, major = "0", minor = "0", patch = "0", preRelease] = match;
  return new Semver([major, minor, patch].map(BigInt), preRelease?.split(".") ?? []);
}

/** Without a `v` before it, zeros before numbers, or numbers that are left out. */
function normalize(text: string): string {
  const [major = "", minor, ...rest] = text.replace(/^v/, "").split(".");
  const patch = rest.length === 0 ? undefined : rest.join(".");
  if (/[+-]/.test(patch === undefined ? (minor ?? major) : "")) return "";
  return [major, minor ?? "0", patch ?? "0"].map((part) => part.replace(/^0+(?=\d)/, "")).join(".");
}

const readSemver = (text: string): Semver => parseSemver(text) ?? failCel("No Major.Minor.Patch elements found");

const asSemver = (value: CelValue): Semver => (value instanceof Semver ? value : failCel("no such overload"));

function compare(left: CelValue, right: CelValue): number {
  const [a, b] = [asSemver(left), asSemver(right)];
  for (const [index, number] of a.numbers.entries()) {
    const other = b.numbers[index] ?? 0n;
    if (number !== other) return number < other ? -1 : 1;
  }
  if (a.preRelease.length === 0 || b.preRelease.length === 0) {
    return Number(a.preRelease.length === 0) - Number(b.preRelease.length === 0);
  }
  for (const [index, part] of a.preRelease.entries()) {
    const other = b.preRelease[index];
    if (other === undefined) return 1;
    const order = compareParts(part, other);
    if (order !== 0) return order;
  }
  return a.preRelease.length === b.preRelease.length ? 0 : -1;
}

/** Numbers come before texts. */
function compareParts(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  const [x, y] = isNumber ? [BigInt(a), BigInt(b)] : [a, b];
  return x < y ? -1 : Number(x > y);
}

export const semverFunctions: readonly CelOverload[] = [
  celFunction("isSemver", ["string"], "bool", (text) => parseSemver(text) !== undefined),
  celFunction("isSemver", ["string", "bool"], "bool", (text, tolerant) => {
    return parseSemver(tolerant ? normalize(text) : text) !== undefined;
  }),
  celFunction("semver", ["string"], "semver", readSemver),
  celFunction("semver", ["string", "bool"], "semver", (text, tolerant) =>
    readSemver(tolerant ? normalize(text) : text),
  ),
  ...["major", "minor", "patch"].map((name, index) =>
    celMethod(name, ["semver"], "int", (value) => asSemver(value).numbers[index] ?? 0n),
  ),
  celMethod("isGreaterThan", ["semver", "semver"], "bool", (a, b) => compare(a, b) > 0),
  celMethod("isLessThan", ["semver", "semver"], "bool", (a, b) => compare(a, b) < 0),
  celMethod("compareTo", ["semver", "semver"], "int", (a, b) => BigInt(compare(a, b))),
];
