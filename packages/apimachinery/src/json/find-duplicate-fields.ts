// Finds members that occur twice in a JSON text. The parsed value no longer shows them.
// Source: sigs.k8s.io/json/internal/golang/encoding/json/kubernetes_patch.go

import { childPath, indexPath } from "../validation/field-error.ts";
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  type JsonCursor,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  readString,
} from "./json-cursor.ts";

/** As many strict decoding faults as upstream collects from one body. */
export const MAX_STRICT_ERRORS = 100;

type Frame = {
  /** Names seen so far; absent for an array. */
  readonly names?: Set<string>;
  /** The member or index that the scan is in. */
  step: string | number;
};

/**
 * The paths of duplicate members (`spec.user`, `spec.projects[0].x`), in document order, each once, at most 100.
 * The text must be well-formed JSON: parse it first.
 */
export function findDuplicateFields(text: string): readonly string[] {
  const found = new Set<string>();
  visitMembers(text, (stack, _, isRepeated) => {
    if (isRepeated && found.size < MAX_STRICT_ERRORS) found.add(pathOf(stack));
  });
  return [...found];
}

/** Where the members of each path stand in the text, in characters from 0. The text must be well-formed JSON. */
export function fieldPlaces(text: string): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  visitMembers(text, (stack, at) => {
    const path = pathOf(stack);
    const known = places.get(path);
    if (known === undefined) places.set(path, [at]);
    else known.push(at);
  });
  return places;
}

/** The stack is the same array each time. */
type VisitMember = (stack: readonly Frame[], at: number, isRepeated: boolean) => void;

function visitMembers(text: string, visit: VisitMember): void {
  const stack: Frame[] = [];
  const cursor: JsonCursor = { text, offset: 0 };
  while (cursor.offset < text.length) {
    const at = cursor.offset;
    const code = text.charCodeAt(at);
    const frame = stack.at(-1);
    if (code === QUOTE) {
      const name = readString(cursor);
      if (frame?.names !== undefined && isMemberName(cursor)) {
        frame.step = name;
        const isRepeated = frame.names.has(name);
        if (!isRepeated) frame.names.add(name);
        visit(stack, at, isRepeated);
      }
      continue;
    }
    cursor.offset++;
    if (code === OPEN_BRACE) stack.push({ names: new Set(), step: "" });
    else if (code === OPEN_BRACKET) stack.push({ step: 0 });
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) stack.pop();
    else if (code === COMMA && typeof frame?.step === "number") frame.step++;
  }
}

/** In well-formed JSON only a member name is followed by a colon. */
function isMemberName({ text, offset }: JsonCursor): boolean {
  let next = offset;
  while (text.charCodeAt(next) <= 0x20) next++;
  return text.charCodeAt(next) === COLON;
}

function pathOf(stack: readonly Frame[]): string {
  let path = "";
  for (const { step } of stack) path = typeof step === "number" ? indexPath(path, step) : childPath(path, step);
  return path;
}
