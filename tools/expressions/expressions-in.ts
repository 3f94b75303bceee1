// Finds the regular expressions of a source text, including those composed of constants of the same file.

import type { Expression } from "./automaton.ts";

export type FoundExpression = {
  readonly line: number;
  /** Absent if it is known only at run time. */
  readonly expression: Expression | undefined;
};

/** The part of oxc-parser's syntax tree that is used here. */
type Node = { readonly type: string; readonly start: number; readonly [member: string]: unknown };

/** Marks an expression that is built at run time, with the reason why it is linear. */
const REASON = /\/\/ linear: \S/;

/** `program` is the syntax tree of `source`. */
export function expressionsIn(source: string, program: unknown): readonly FoundExpression[] {
  const nodes = [...nodesIn(program)];
  const constants = new Map<string, Node>();
  for (const { type, id, init } of nodes) {
    if (type === "VariableDeclarator" && isNode(id) && isNode(init) && typeof id["name"] === "string") {
      constants.set(id["name"], init);
    }
  }
  const found: FoundExpression[] = [];
  for (const node of nodes) {
    const lines = source.slice(0, node.start).split("\n");
    const literal = literalOf(node);
    const isMade =
      (node.type === "NewExpression" || node.type === "CallExpression") && nameOf(node["callee"]) === "RegExp";
    if (literal !== undefined) found.push({ line: lines.length, expression: literal });
    if (!isMade || REASON.test(lines.slice(-3).join("\n"))) continue;
    const [pattern, flags] = listOf(node["arguments"]);
    const source_ = pattern === undefined ? undefined : patternOf(pattern, constants);
    const flagText = flags === undefined ? (source_?.flags ?? "") : textOf(flags, constants);
    const expression =
      source_ === undefined || flagText === undefined ? undefined : { source: source_.source, flags: flagText };
    found.push({ line: lines.length, expression });
  }
  return found;
}

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

const listOf = (value: unknown): readonly Node[] => (Array.isArray(value) ? value.filter(isNode) : []);

const nameOf = (value: unknown): string | undefined =>
  isNode(value) && value.type === "Identifier" && typeof value["name"] === "string" ? value["name"] : undefined;

function literalOf({ type, regex }: Node): Expression | undefined {
  if (type !== "Literal" || typeof regex !== "object" || regex === null) return undefined;
  if (!("pattern" in regex && "flags" in regex)) return undefined;
  return { source: String(regex.pattern), flags: String(regex.flags) };
}

/** A copied regular expression keeps its flags. */
function patternOf(node: Node, constants: ReadonlyMap<string, Node>): Expression | undefined {
  const name = nameOf(node);
  const constant = name === undefined ? undefined : constants.get(name);
  if (constant !== undefined) {
    const [made] = expressionsOf(constant, constants);
    if (made !== undefined) return made;
  }
  const source = textOf(node, constants);
  return source === undefined ? undefined : { source, flags: "" };
}

function expressionsOf(node: Node, constants: ReadonlyMap<string, Node>): readonly Expression[] {
  const literal = literalOf(node);
  if (literal !== undefined) return [literal];
  if (node.type !== "NewExpression" || nameOf(node["callee"]) !== "RegExp") return [];
  const [pattern, flags] = listOf(node["arguments"]);
  const source = pattern === undefined ? undefined : textOf(pattern, constants);
  const flagText = flags === undefined ? "" : textOf(flags, constants);
  return source === undefined || flagText === undefined ? [] : [{ source, flags: flagText }];
}

/** The text of a string, of a template, or of a constant with one. */
function textOf(node: Node, constants: ReadonlyMap<string, Node>): string | undefined {
  if (node.type === "Literal") return typeof node["value"] === "string" ? node["value"] : undefined;
  const name = nameOf(node);
  const constant = name === undefined ? undefined : constants.get(name);
  if (constant !== undefined) return textOf(constant, constants);
  if (node.type === "MemberExpression" && isNode(node["object"])) {
    // `EXPRESSION.source`
    const isSource = isNode(node["property"]) && nameOf(node["property"]) === "source";
    return isSource ? patternOf(node["object"], constants)?.source : undefined;
  }
  if (node.type === "BinaryExpression" && isNode(node["left"]) && isNode(node["right"])) {
    const [left, right] = [textOf(node["left"], constants), textOf(node["right"], constants)];
    return left === undefined || right === undefined ? undefined : left + right;
  }
  if (node.type === "TaggedTemplateExpression" && isNode(node["quasi"])) return textOf(node["quasi"], constants);
  if (node.type !== "TemplateLiteral") return undefined;
  const parts = listOf(node["expressions"]).map((part) => textOf(part, constants));
  if (parts.includes(undefined)) return undefined;
  return listOf(node["quasis"]).reduce((text, quasi, index) => text + cooked(quasi) + (parts[index] ?? ""), "");
}

function cooked({ value }: Node): string {
  if (typeof value !== "object" || value === null || !("cooked" in value)) return "";
  return String(value.cooked);
}
