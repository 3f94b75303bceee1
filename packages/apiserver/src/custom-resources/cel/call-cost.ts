// What calls cost, in the units of upstream, by what they have to look at.
// Source: github.com/google/cel-go/interpreter/runtimecost.go, k8s.io/apiserver/pkg/cel/library/cost.go

import { CelBytes, CelList, CelMap, type CelValue } from "./cel-value.ts";

/** Of going through a text, for each of its characters. */
const TRAVERSAL = 0.1;
/** Of a pattern, for each of its characters. */
const PATTERN = 0.25;

function sizeOf(value: CelValue | undefined): number {
  if (typeof value === "string") return value.length;
  if (value instanceof CelBytes) return value.bytes.length;
  return value instanceof CelList || value instanceof CelMap ? value.size : 1;
}

const traversal = (value: CelValue | undefined, times = 1): number => Math.ceil(sizeOf(value) * times * TRAVERSAL);

/** Of each item, and of going through those that are texts. */
function listTraversal(value: CelValue | undefined): number {
  if (!(value instanceof CelList)) return traversal(value);
  return value.items.reduce<number>((sum, item) => sum + (isText(item) ? traversal(item) : 1), 0);
}

const isText = (value: CelValue | undefined): boolean => typeof value === "string" || value instanceof CelBytes;

/** All values in a value, itself included. */
function deepSizeOf(value: CelValue | undefined): number {
  if (value instanceof CelList) return value.items.reduce<number>((sum, item) => sum + deepSizeOf(item), 1);
  if (!(value instanceof CelMap)) return 1;
  return value.keys().reduce<number>((sum, key) => sum + deepSizeOf(value.get(key)), 1);
}

/** How much longer it takes to compare with a value than with a scalar. */
const weightOf = (value: CelValue | undefined): number => Math.max(1, deepSizeOf(value) * TRAVERSAL);

/** The lesser of the two: comparing ends there. */
const comparison = (a: CelValue | undefined, b: CelValue | undefined): number =>
  Math.ceil(Math.min(sizeOf(a), sizeOf(b)) * TRAVERSAL);

const search = (text: CelValue | undefined, pattern: CelValue | undefined): number =>
  Math.ceil((1 + sizeOf(text)) * TRAVERSAL) * Math.ceil(sizeOf(pattern) * PATTERN);

/**
 * Upstream counts the outermost values alone. Here whoever compares lists and maps also pays for what is in them, and whoever
 * counts the characters of a long text for going through it: others wait for that meanwhile.
 */
export function costOfCall(name: string, args: readonly CelValue[], result: CelValue): number {
  const [first, second] = args;
  switch (name) {
    case "_==_":
    case "_!=_":
      return comparison(first, second);
    case "_<_":
    case "_<=_":
    case "_>_":
    case "_>=_":
      return isText(first) ? comparison(first, second) : 1;
    case "@in":
      return second instanceof CelList ? Math.ceil(second.size * weightOf(first)) : 1;
    case "_+_":
      return isText(first) ? Math.ceil((sizeOf(first) + sizeOf(second)) * TRAVERSAL) : 1 + copied(first, second);
    case "startsWith":
    case "endsWith":
      return traversal(second);
    case "contains":
      return traversal(first) * traversal(second);
    case "matches":
    case "find":
    case "findAll":
      return search(first, second);
    case "size":
      return typeof first === "string" ? Math.max(1, Math.ceil(first.length / 1_000)) : 1;
    case "isSorted":
    case "sum":
    case "min":
    case "max":
      return listTraversal(first);
    case "indexOf":
    case "lastIndexOf":
      return Math.ceil(listTraversal(first) * weightOf(second));
    case "url":
    case "lowerAscii":
    case "upperAscii":
    case "substring":
    case "trim":
    case "cidr":
    case "isIP":
    case "isCIDR":
    case "ip":
    case "quantity":
    case "isQuantity":
    case "bytes":
    case "string":
    case "charAt":
    case "isURL":
    case "strings.quote":
      return Math.max(1, traversal(first));
    case "replace":
    case "split":
    case "ip.isCanonical":
      return traversal(first, 2);
    case "join":
    case "format":
      return traversal(result, 2);
    case "containsIP":
    case "containsCIDR":
      return 1 + traversal(second);
    case "validate":
      return search(second, "x".repeat(60));
    case "sets.contains":
    case "sets.intersects":
      return Math.ceil(sizeOf(first) * sizeOf(second) * Math.max(1, deepSizeOf(first) * TRAVERSAL));
    case "sets.equivalent":
      return Math.ceil(2 * sizeOf(first) * sizeOf(second) * Math.max(1, deepSizeOf(first) * TRAVERSAL));
    default:
      return 1;
  }
}

/** Lists are copied here when they are joined, which upstream does not do. */
const copied = (a: CelValue | undefined, b: CelValue | undefined): number =>
  a instanceof CelList ? Math.floor((sizeOf(a) + sizeOf(b)) / 100) : 0;
