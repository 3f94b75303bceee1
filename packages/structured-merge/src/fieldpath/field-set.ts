// A set of field paths as an immutable trie, and its algebra.
// Operations hand back an operand itself where it already is the result, so that "unchanged" is a comparison of references.
// Source: sigs.k8s.io/structured-merge-diff/fieldpath/set.go

import { type FieldPath, type PathElement, sortPathElements } from "./path-element.ts";

/**
 * `members` are the fields of this level that belong to the set; `children` the sets below them.
 * A field with children need not be a member itself. No child is empty.
 */
export type FieldSet = {
  readonly members: ReadonlySet<PathElement>;
  readonly children: ReadonlyMap<PathElement, FieldSet>;
};

const NO_MEMBERS: ReadonlySet<PathElement> = new Set();
const NO_CHILDREN: ReadonlyMap<PathElement, FieldSet> = new Map();

export const EMPTY_FIELD_SET: FieldSet = { members: NO_MEMBERS, children: NO_CHILDREN };

/**
 * A set under construction: not shared until it is complete. Most nodes are list items without children, or have no members: neither
 * collection is made before it is needed.
 */
export type FieldSetDraft = {
  members: ReadonlySet<PathElement>;
  children: ReadonlyMap<PathElement, FieldSetDraft>;
};

const NO_DRAFTS: ReadonlyMap<PathElement, FieldSetDraft> = new Map();

export const draftFieldSet = (): FieldSetDraft => ({ members: NO_MEMBERS, children: NO_DRAFTS });

export function addMember(draft: FieldSetDraft, element: PathElement): void {
  if (draft.members === NO_MEMBERS) draft.members = new Set<PathElement>();
  // Made above, for this draft alone.
  (draft.members as Set<PathElement>).add(element);
}

function addChild(draft: FieldSetDraft, element: PathElement, child: FieldSetDraft): void {
  if (draft.children === NO_DRAFTS) draft.children = new Map<PathElement, FieldSetDraft>();
  // Made above, for this draft alone.
  (draft.children as Map<PathElement, FieldSetDraft>).set(element, child);
}

/** Adds the field at `path`, not its parents. The empty path is no field and is left out. */
export function insertPath(draft: FieldSetDraft, path: FieldPath): void {
  let node = draft;
  const last = path.length - 1;
  for (let depth = 0; depth < last; depth++) {
    const element = path[depth] as PathElement; // depth < path.length, so that it is there
    let child = node.children.get(element);
    if (child === undefined) {
      child = draftFieldSet();
      addChild(node, element, child);
    }
    node = child;
  }
  const leaf = path[last];
  if (leaf !== undefined) addMember(node, leaf);
}

/** Adds the field itself if `isMember`, and the fields below it. */
export function addField(draft: FieldSetDraft, element: PathElement, isMember: boolean, below?: FieldSetDraft): void {
  if (isMember) addMember(draft, element);
  if (below !== undefined && !isEmptyFieldSet(below)) addChild(draft, element, below);
}

/** Whether both have the same members and nothing below them. */
export function areEqualLeaves(a: FieldSet, b: FieldSet): boolean {
  return a.children.size === 0 && b.children.size === 0 && equalFieldSets(a, b);
}

/**
 * `combine` with a cache of its last result. Items of a long list mostly have the same fields and share one set below them, so that the combination
 * is computed once.
 */
export function withLastResult<A, B, R>(combine: (a: A, b: B) => R): (a: A, b: B) => R {
  let last: { readonly a: A; readonly b: B; readonly result: R } | undefined;
  return (a, b) => {
    if (last === undefined || last.a !== a || last.b !== b) last = { a, b, result: combine(a, b) };
    return last.result;
  };
}

export function fieldSetOf(...paths: readonly FieldPath[]): FieldSet {
  const draft = draftFieldSet();
  for (const path of paths) insertPath(draft, path);
  return draft;
}

export const isEmptyFieldSet = (set: FieldSet): boolean => set.members.size === 0 && set.children.size === 0;

export function hasPath(set: FieldSet, path: FieldPath): boolean {
  const last = path.at(-1);
  return last !== undefined && subsetAt(set, path.slice(0, -1))?.members.has(last) === true;
}

/** Members of the set below `element`, with the prefix taken off. */
export const withPrefix = (set: FieldSet, element: PathElement): FieldSet =>
  set.children.get(element) ?? EMPTY_FIELD_SET;

/** The node that `path` leads to; undefined where the set has nothing below it. */
export function subsetAt(set: FieldSet, path: FieldPath): FieldSet | undefined {
  let node: FieldSet | undefined = set;
  for (const element of path) node = node?.children.get(element);
  return node;
}

export function equalFieldSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.members.size !== b.members.size || a.children.size !== b.children.size) return false;
  for (const element of a.members) if (!b.members.has(element)) return false;
  if (a.children.size === 0) return true;
  const areEqual = withLastResult(equalFieldSets);
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    if (other === undefined || !areEqual(child, other)) return false;
  }
  return true;
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptyFieldSet(b)) return a;
  if (isEmptyFieldSet(a)) return b;
  const members = unionOfMembers(a.members, b.members);
  let children: Map<PathElement, FieldSet> | undefined;
  const unionBelow = withLastResult(union);
  for (const [element, child] of b.children) {
    const own = a.children.get(element);
    const merged = own === undefined ? child : unionBelow(own, child);
    if (merged !== own) {
      children ??= new Map(a.children);
      children.set(element, merged);
    }
  }
  return withParts(a, members, children ?? a.children);
}

function unionOfMembers(a: ReadonlySet<PathElement>, b: ReadonlySet<PathElement>): ReadonlySet<PathElement> {
  for (const element of b) if (!a.has(element)) return new Set([...a, ...b]);
  return a;
}

/** The fields that are members of both. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  const members = keepMembers(a.members, (element) => b.members.has(element));
  const below = withLastResult(intersection);
  const children = mapChildren(a.children, (element, child) => {
    const other = b.children.get(element);
    return other === undefined ? EMPTY_FIELD_SET : below(child, other);
  });
  return withParts(a, members, children);
}

/** The members of `a` that are no members of `b`. Members below a removed field stay. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptyFieldSet(b)) return a;
  const members = keepMembers(a.members, (element) => !b.members.has(element));
  const below = withLastResult(difference);
  const children = mapChildren(a.children, (element, child) => {
    const other = b.children.get(element);
    return other === undefined ? child : below(child, other);
  });
  return withParts(a, members, children);
}

/** `a` without the members of `b` and without everything below them. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptyFieldSet(b)) return a;
  const members = keepMembers(a.members, (element) => !b.members.has(element));
  const below = withLastResult(recursiveDifference);
  const children = mapChildren(a.children, (element, child) => {
    if (b.members.has(element)) return EMPTY_FIELD_SET;
    const other = b.children.get(element);
    return other === undefined ? child : below(child, other);
  });
  return withParts(a, members, children);
}

/** `a` with nothing but the members of `b` and everything below them. */
export function recursiveIntersection(a: FieldSet, b: FieldSet): FieldSet {
  const members = keepMembers(a.members, (element) => b.members.has(element));
  const below = withLastResult(recursiveIntersection);
  const children = mapChildren(a.children, (element, child) => {
    if (b.members.has(element)) return child;
    const other = b.children.get(element);
    return other === undefined ? EMPTY_FIELD_SET : below(child, other);
  });
  return withParts(a, members, children);
}

/** The members that have nothing below them. */
export function leaves(set: FieldSet): FieldSet {
  const members = keepMembers(set.members, (element) => !set.children.has(element));
  return withParts(
    set,
    members,
    mapChildren(set.children, (_, child) => leaves(child)),
  );
}

/** Every member as a path: those of a level first, then those below, each in canonical order. */
export const pathsOf = (set: FieldSet): FieldPath[] => [...firstPathsOf(set)];

/** The same, for callers that may not need all of them. */
export function* firstPathsOf(set: FieldSet, prefix: FieldPath = []): Generator<FieldPath, void> {
  for (const element of sortPathElements(set.members)) yield [...prefix, element];
  for (const element of sortPathElements(set.children.keys())) {
    yield* firstPathsOf(withPrefix(set, element), [...prefix, element]);
  }
}

/** How many fields are members, at any depth. */
export function countMembers(set: FieldSet): number {
  let count = set.members.size;
  for (const child of set.children.values()) count += countMembers(child);
  return count;
}

function withParts(set: FieldSet, members: FieldSet["members"], children: FieldSet["children"]): FieldSet {
  return members === set.members && children === set.children ? set : { members, children };
}

function keepMembers(
  members: ReadonlySet<PathElement>,
  keep: (element: PathElement) => boolean,
): ReadonlySet<PathElement> {
  let kept: Set<PathElement> | undefined;
  for (const element of members) {
    if (keep(element)) continue;
    kept ??= new Set(members);
    kept.delete(element);
  }
  return kept ?? members;
}

/** Children that become empty are dropped. */
function mapChildren(
  children: ReadonlyMap<PathElement, FieldSet>,
  change: (element: PathElement, child: FieldSet) => FieldSet,
): ReadonlyMap<PathElement, FieldSet> {
  let changed: Map<PathElement, FieldSet> | undefined;
  for (const [element, child] of children) {
    const next = change(element, child);
    if (next === child) continue;
    changed ??= new Map(children);
    if (isEmptyFieldSet(next)) changed.delete(element);
    else changed.set(element, next);
  }
  return changed ?? children;
}
