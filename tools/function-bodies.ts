// The functions of a source file, by the shape of their bodies.

import { parseSync } from "oxc-parser";

/** Shorter bodies are alike by chance. */
const LEAST_LINES = 12;

const WORD = /(["'`])(?:\\.|(?!\1)[^\\])*\1|[A-Za-z_$][\w$]*|[^\s\w]+|\w+/gs;
const KEYWORDS =
  /^(?:as|async|await|break|case|catch|class|const|continue|default|delete|do|else|false|finally|for|function|if|in|instanceof|let|new|null|of|return|switch|this|throw|true|try|typeof|undefined|void|while|yield)$/;

export type Body = { readonly place: string; readonly shape: string };

/** Bodies of `LEAST_LINES` or more, without comments and empty lines. Two of one shape differ in names and texts only. */
export function bodiesOf(path: string, source: string): readonly Body[] {
  if (source.split("\n").length < LEAST_LINES) return [];
  const { program, comments } = parseSync(path, source);
  const found: Body[] = [];
  visit(program, (start, end) => {
    const text = source.slice(start, end);
    if (text.split("\n").length < LEAST_LINES) return;
    const inside = comments.filter((comment) => comment.start > start && comment.end < end);
    const code = inside.reduceRight(
      (rest, comment) => rest.slice(0, comment.start - start) + rest.slice(comment.end - start),
      text,
    );
    if (code.split("\n").filter((line) => line.trim() !== "").length < LEAST_LINES) return;
    found.push({ place: `${path}:${source.slice(0, start).split("\n").length}`, shape: shapeOf(code) });
  });
  return found;
}

/** Names and texts by their first appearance. */
function shapeOf(code: string): string {
  const numbers = new Map<string, number>();
  return code
    .replaceAll(WORD, (word) => {
      if (KEYWORDS.test(word) || !/^["'`\w$]/.test(word)) return word;
      if (!numbers.has(word)) numbers.set(word, numbers.size);
      return `#${numbers.get(word)}`;
    })
    .replaceAll(/\s+/g, "");
}

/** Calls `onBody` for the body of each function. */
function visit(node: unknown, onBody: (start: number, end: number) => void): void {
  if (typeof node !== "object" || node === null) return;
  const { type, body } = node as {
    readonly type?: string;
    readonly body?: { readonly type: string; readonly start: number; readonly end: number };
  };
  if (/Function/.test(type ?? "") && body?.type !== undefined) onBody(body.start, body.end);
  for (const value of Object.values(node)) visit(value, onBody);
}
