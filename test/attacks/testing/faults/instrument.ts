// Adds a point to each function and each `await` of a source, at which a test may throw.

import { parseSync } from "oxc-parser";

type Node = { readonly type: string; readonly start: number; readonly end: number; readonly [member: string]: unknown };

const FUNCTIONS: ReadonlySet<string> = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
]);

/** The name of the global function that is called at each point, with the place of the point, and behind an `await` with its value. */
const POINT = "__faultPoint";

/** `path` is relative to the repository. */
export function withFaultPoints(path: string, source: string): string {
  const { program } = parseSync(path, source);
  const insertions: { readonly at: number; readonly text: string }[] = [];
  const lineOf = (at: number): number => source.slice(0, at).split("\n").length;
  const point = (kind: string, at: number): string => JSON.stringify(`${path}:${lineOf(at)} ${kind}`);
  const visit = (node: Node): void => {
    const body = node["body"] as Node | null | undefined;
    if (FUNCTIONS.has(node.type) && body !== null && body !== undefined && !isTypeOnly(node)) {
      const call = `globalThis.${POINT}?.(${point("call", node.start)})`;
      if (body.type === "BlockStatement") insertions.push({ at: body.start + 1, text: `${call};` });
      else {
        insertions.push({ at: startOf(source, body.start, node), text: `(${call}, ` });
        insertions.push({ at: endOf(source, body.end, node), text: ")" });
      }
    }
    if (node.type === "AwaitExpression") {
      insertions.push({
        at: node.start,
        text: `(globalThis.${POINT} ?? ((_, value) => value))(${point("await", node.start)}, `,
      });
      insertions.push({ at: node.end, text: ")" });
    }
    for (const member of Object.values(node)) {
      for (const child of Array.isArray(member) ? member : [member]) if (isNode(child)) visit(child);
    }
  };
  visit(program as unknown as Node);
  let text = source;
  // Those at the same place keep their order.
  const sorted = insertions
    .map((insertion, order) => ({ ...insertion, order }))
    .sort((a, b) => b.at - a.at || b.order - a.order);
  for (const { at, text: added } of sorted) text = text.slice(0, at) + added + text.slice(at);
  return text;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value;

/** Overloads and constructors of derived classes, which must call `super` first, get no point. */
const isTypeOnly = (node: Node): boolean => node["declare"] === true;

/** The body of an arrow function may be in parentheses. */
function startOf(source: string, start: number, arrow: Node): number {
  let at = start;
  for (let before = at - 1; before > arrow.start; before--) {
    const char = source[before] ?? "";
    if (char === "(") at = before;
    else if (!/\s/.test(char)) break;
  }
  return at;
}

const endOf = (_source: string, _end: number, arrow: Node): number => arrow.end;
