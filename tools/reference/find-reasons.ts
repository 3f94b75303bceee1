// The machine-readable reasons of the server, found in its source: members `reason` of object literals, types and constants that
// list reasons, and the error codes of OAuth.

import { parseSync } from "oxc-parser";
import { readSource, typeScriptFiles } from "../source-files.ts";

/** The part of oxc-parser's syntax tree that is used here. */
type Node = { readonly type: string; readonly [member: string]: unknown };

const SERVED = /^packages\/(apimachinery|structured-merge|cel|api|apiserver|kubernetes|platform)\/src\//;
const LISTS = /(Reason|DecisionCode|PermissionCode|FieldErrorType|REASONS)$/;
const OAUTH_FAILURES = ["ExchangeRefusal", "oauthFailure"];
/** Most files need not be parsed. */
const MAY_HAVE_REASONS = /reason|REASONS|DecisionCode|PermissionCode|FieldErrorType|ExchangeRefusal|oauthFailure/i;
const WORD = /^[A-Za-z][A-Za-z_-]+$/;

/** Each reason with its files. */
export function findReasons(): ReadonlyMap<string, readonly string[]> {
  const files = typeScriptFiles().filter((path) => SERVED.test(path) && !/\.test\.ts$|\/testing\//.test(path));
  const sources = files.map((path) => [path, readSource(path)] as const);
  return reasonsIn(new Map(sources.filter(([, source]) => MAY_HAVE_REASONS.test(source))));
}

/** `sources` by path. */
export function reasonsIn(sources: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const nodes = new Map([...sources].map(([path, source]) => [path, [...nodesIn(parseSync(path, source).program)]]));
  const own = new Map([...nodes].map(([path, list]) => [path, constantsOf(list)]));
  const all = new Map([...own.values()].flatMap((constants) => [...constants]));
  const found = new Map<string, Set<string>>();
  for (const [path, list] of nodes) {
    // Files may use the same name for different constants.
    const constants = new Map([...all, ...(own.get(path) ?? [])]);
    for (const word of list.flatMap((node) => reasonsOf(node, constants))) {
      if (!WORD.test(word)) continue;
      const places = found.get(word) ?? new Set();
      found.set(word, places.add(path));
    }
  }
  return new Map([...found].map(([word, paths]) => [word, [...paths].sort()]));
}

/** By name. */
function constantsOf(nodes: readonly Node[]): ReadonlyMap<string, Node> {
  const constants = new Map<string, Node>();
  for (const { type, id, init } of nodes) {
    const name = nameOf(id);
    if (type === "VariableDeclarator" && name !== undefined && isNode(init)) constants.set(name, init);
  }
  return constants;
}

function reasonsOf(node: Node, constants: ReadonlyMap<string, Node>): readonly string[] {
  const { type, key, value, id, typeAnnotation, init, callee } = node;
  if (type === "Property" && nameOf(key) === "reason" && isNode(value)) return valuesOf(value, constants);
  if (type === "TSTypeAliasDeclaration" && LISTS.test(nameOf(id) ?? "")) return literalsIn(typeAnnotation);
  if (type === "VariableDeclarator" && LISTS.test(nameOf(id) ?? "")) return literalsIn(init);
  if ((type === "NewExpression" || type === "CallExpression") && OAUTH_FAILURES.includes(nameOf(callee) ?? "")) {
    const [first] = Array.isArray(node["arguments"]) ? node["arguments"] : [];
    return isNode(first) ? valuesOf(first, constants) : [];
  }
  return [];
}

/** The possible string values of an expression, as far as the source shows them. */
function valuesOf(node: Node, constants: ReadonlyMap<string, Node>): readonly string[] {
  const of = (...members: readonly unknown[]): readonly string[] =>
    members.flatMap((member) => (isNode(member) ? valuesOf(member, constants) : []));
  switch (node.type) {
    case "Literal":
      return typeof node["value"] === "string" ? [node["value"]] : [];
    case "ConditionalExpression":
      return of(node["consequent"], node["alternate"]);
    case "LogicalExpression":
      return of(node["left"], node["right"]);
    case "Identifier": {
      const constant = constants.get(nameOf(node) ?? "");
      return constant?.type === "Literal" ? of(constant) : [];
    }
    case "MemberExpression":
      return node["computed"] === true ? literalsIn(constants.get(nameOf(node["object"]) ?? "")) : [];
    default:
      return [];
  }
}

const literalsIn = (value: unknown): readonly string[] =>
  [...nodesIn(value)].flatMap(({ type, value: text }) =>
    type === "Literal" && typeof text === "string" ? [text] : [],
  );

function* nodesIn(value: unknown): Generator<Node> {
  if (Array.isArray(value)) {
    for (const item of value) yield* nodesIn(item);
  } else if (typeof value === "object" && value !== null) {
    if (isNode(value)) yield value;
    for (const member of Object.values(value)) yield* nodesIn(member);
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string" && "start" in value;

const nameOf = (value: unknown): string | undefined =>
  isNode(value) && value.type === "Identifier" && typeof value["name"] === "string" ? value["name"] : undefined;
