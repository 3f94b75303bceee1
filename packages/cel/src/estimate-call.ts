// Highest cost of a call beside its arguments, and the largest size of its result.
// Source: github.com/google/cel-go/checker/cost.go (functionCost), ext/sets.go, k8s.io/apiserver/pkg/cel/library/cost.go

import type { CelExpression } from "./cel-expression.ts";
import type { CelType } from "./cel-type.ts";
import { add, exactly, MAX_ESTIMATE, multiply, type Range, scale, UNKNOWN, union } from "./estimated-range.ts";
import { SORT_BY_KEYS } from "./functions/list-functions.ts";

export type CallArgument = {
  readonly part: CelExpression;
  readonly type: CelType;
  readonly size: Range;
  /** Size of each item of a list. */
  readonly itemSize: Range;
};

export type CallEstimate = { readonly cost: Range; readonly size?: Range };

/** Cost of reading a text, for each byte. */
const TRAVERSAL = 0.1;
/** Cost of a pattern, for each character. */
const PATTERN = 0.25;
/** How long a pattern of a named format may be. */
const FORMAT_PATTERN_LENGTH = 128;
/** Cost of asking an authorizer. */
const ACCESS = 350_000;
/** Bytes of an address. */
const ADDRESS: Range = { min: 4, max: 16 };

const ONE: CallEstimate = { cost: exactly(1) };
const NOTHING: CallArgument = {
  part: { type: "literal", at: 0, value: null },
  type: { kind: "dyn" },
  size: UNKNOWN,
  itemSize: UNKNOWN,
};

const traversal = (size: Range, times = 1): Range => scale(size, times * TRAVERSAL);
const isText = ({ kind }: CelType): boolean => kind === "string" || kind === "bytes";

/** A method is called on its first argument. */
export function estimateCall(name: string, isMethod: boolean, args: readonly CallArgument[]): CallEstimate {
  return (isMethod ? estimateMethod(name, args) : estimateFunction(name, args)) ?? ONE;
}

function estimateFunction(name: string, args: readonly CallArgument[]): CallEstimate | undefined {
  const [first = NOTHING, second = NOTHING] = args;
  switch (name) {
    case "_==_":
      return { cost: isSmall(first.type) ? exactly(1) : comparison(first, second) };
    case "_!=_":
      return { cost: comparison(first, second) };
    case "_<_":
    case "_<=_":
    case "_>_":
    case "_>=_":
      return byType(first.type, isText, { cost: comparison(first, second) });
    case "_+_":
      return concatenation(first, second);
    case "@in":
      return byType(second.type, ({ kind }) => kind === "list", { cost: second.size });
    case "dyn":
      return { cost: exactly(1), size: first.size };
    case "url":
      return { cost: traversal(first.size), size: first.size };
    case "isIP":
    case "cidr":
    case "isCIDR":
    case "ip":
    case "quantity":
    case "isQuantity":
    case "semver":
    case "isSemver":
      return { cost: traversal(first.size) };
    case "ip.isCanonical":
      return { cost: traversal(first.size, 2) };
    case "jsonpatch.escapeKey":
      return { cost: traversal(first.size), size: first.size };
    case "lists.range":
      return newList(exactly(literalValue(first, MAX_ESTIMATE)), 1);
    case "bytes": {
      const { min, max } = first.size;
      const size = { min, max: Math.min(max * 4, MAX_ESTIMATE) };
      return byType(first.type, ({ kind }) => kind === "string", { cost: traversal(first.size), size });
    }
    case "string": {
      const { min, max } = first.size;
      const size = { min: Math.floor(min / 4), max };
      return byType(first.type, ({ kind }) => kind === "bytes", { cost: traversal(first.size), size });
    }
    case "strings.quote": {
      const { min, max } = first.size;
      return { cost: traversal(first.size), size: { min: min + 2, max: Math.min(max * 2 + 2, MAX_ESTIMATE) } };
    }
    case "sets.contains":
    case "sets.intersects":
      return { cost: add(multiply(first.size, second.size), exactly(1)) };
    case "sets.equivalent":
      return { cost: add(scale(multiply(first.size, second.size), 2), exactly(1)) };
    default:
      return undefined;
  }
}

function estimateMethod(name: string, args: readonly CallArgument[]): CallEstimate | undefined {
  const [target = NOTHING, first = NOTHING, second = NOTHING] = args;
  switch (name) {
    case "isSorted":
    case "sum":
    case "min":
    case "max":
    case "indexOf":
    case "lastIndexOf":
      return { cost: target.type.kind === "list" ? listTraversal(target, target.type.of) : traversal(target.size) };
    case "lowerAscii":
    case "upperAscii":
    case "substring":
    case "trim":
      return { cost: traversal(target.size), size: target.size };
    case "replace":
      return { cost: traversal(target.size, 2), size: replacedSize(target.size, first.size, second.size) };
    case "split":
      return {
        cost: traversal(target.size, 2),
        size: { min: 0, max: args[2] === undefined ? target.size.max : limitOf(second) },
      };
    case "join":
      return joined(target, args[1]);
    case "find":
    case "findAll":
      return { cost: search(target, first), size: { min: 0, max: target.size.max } };
    case "matches":
      return { cost: search(target, first) };
    case "contains":
      return { cost: multiply(traversal(target.size), traversal(first.size)) };
    case "startsWith":
    case "endsWith":
      return { cost: traversal(first.size) };
    case "format":
      return { cost: traversal(target.size) };
    case "containsIP":
      return { cost: add(traversal(add(ADDRESS, ADDRESS)), ofText(first)) };
    case "containsCIDR":
      return { cost: add(traversal(add(ADDRESS, ADDRESS)), traversal(ADDRESS), exactly(1), ofText(first)) };
    case "validate":
      return { cost: scale(traversal(first.size), FORMAT_PATTERN_LENGTH * PATTERN) };
    case "check":
      return { cost: exactly(ACCESS) };
    case "fieldSelector":
    case "labelSelector":
      return { cost: traversal(first.size, 2) };
    case "reverse":
      return newList(target.size, 1);
    case "slice": {
      const [begin, end] = [literalValue(first, 0), literalValue(second, target.size.max)];
      // Upstream's whole numbers have no sign: from the end to the beginning is very far.
      return newList(exactly(end >= begin ? end - begin : MAX_ESTIMATE + end - begin), 1);
    }
    case "flatten":
      return newList(target.size, args.length === 1 ? 1 : literalValue(first, MAX_ESTIMATE));
    case "distinct":
      return newList(multiply(target.size, target.size), 2);
    case "sort":
      return sorted(target);
    case SORT_BY_KEYS:
      return sorted(first);
    default:
      return undefined;
  }
}

/** Cost of making a list, beside that of each item. */
const NEW_LIST = exactly(11);

const newList = (size: Range, factor: number): CallEstimate => ({ cost: add(scale(size, factor), NEW_LIST), size });

/** Each item is compared with each other. */
function sorted({ type, size }: CallArgument): CallEstimate {
  const item = type.kind === "list" ? type.of : type;
  const factor = isText(item) || item.kind === "dyn" ? 2 + TRAVERSAL : 2;
  return newList(multiply(size, size), factor);
}

/** The value of a literal number, no less than 0. */
const literalValue = ({ part }: CallArgument, otherwise: number): number =>
  part.type === "literal" && typeof part.value === "bigint" ? Math.max(0, Number(part.value)) : otherwise;

/** Cost of a function for the types that `isMeant`; 1 for others, and either where only the value decides. */
function byType(type: CelType, isMeant: (type: CelType) => boolean, meant: CallEstimate): CallEstimate {
  if (type.kind === "dyn") return { ...meant, cost: union(meant.cost, exactly(1)) };
  return isMeant(type) ? meant : ONE;
}

/** Values of the library whose comparison costs as much whatever they are. */
const isSmall = (type: CelType): boolean => type.kind === "extension" && type.name !== "kubernetes.URL";

function comparison(a: CallArgument, b: CallArgument): Range {
  const max = Math.min(a.size.max, b.size.max);
  return scale({ min: max > 0 ? 1 : 0, max }, TRAVERSAL);
}

function concatenation(a: CallArgument, b: CallArgument): CallEstimate {
  const size = add(a.size, b.size);
  if (a.type.kind === "list") return { cost: exactly(1), size };
  return byType(a.type, isText, { cost: traversal(size), size });
}

/** Cost of each item, and of reading those that are texts. */
const listTraversal = ({ size, itemSize }: CallArgument, item: CelType): Range =>
  multiply(size, isText(item) ? add(exactly(1), traversal(itemSize)) : exactly(1));

const ofText = ({ type, size }: CallArgument): Range => (type.kind === "string" ? traversal(size) : exactly(0));

const search = (text: CallArgument, pattern: CallArgument): Range =>
  multiply(traversal(add(text.size, exactly(1))), scale(pattern.size, PATTERN));

const limitOf = ({ part, size }: CallArgument): number =>
  part.type === "literal" && typeof part.value === "bigint" ? Number(BigInt.asUintN(64, part.value)) : size.max;

function joined(list: CallArgument, separator: CallArgument | undefined): CallEstimate {
  const gaps = { min: Math.max(0, list.size.min - 1), max: Math.max(0, list.size.max - 1) };
  const texts = multiply(list.size, list.itemSize);
  const size = separator === undefined ? texts : add(texts, multiply(separator.size, gaps));
  return { cost: traversal(size), size };
}

/** Assumes the longest replacements of the shortest texts, and the other way round. */
function replacedSize(text: Range, old: Range, replacement: Range): Range {
  const size = (length: number, from: number, to: number, keeps: boolean): number => {
    // Every character is surrounded by the replacement of nothing.
    if (from === 0) return (length + 1) * to + length;
    return keeps ? length : Math.ceil(length / from) * to;
  };
  return {
    min: size(text.min, old.max, replacement.min, old.max <= replacement.min),
    max: Math.min(size(text.max, old.min, replacement.max, replacement.max <= old.min), MAX_ESTIMATE),
  };
}
