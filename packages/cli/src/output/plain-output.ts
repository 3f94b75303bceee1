// JSON and YAML for programs, which people read on terminals as well: characters that a terminal acts on are written as escapes.

import { Document, type Scalar, visit } from "yaml";
import { ACTIVE_IN_LINES } from "./plain-text.ts";

/** `JSON.stringify` escapes the first 32 alone. In JSON, the others are inside of strings. */
export const plainJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, undefined, indent).replaceAll(ACTIVE_IN_LINES, escaped);

/** Strings with such characters are in double quotes, where YAML has the same escapes. */
export function plainYaml(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Scalar(_, node: Scalar) {
      if (typeof node.value === "string" && node.value.search(ACTIVE_IN_LINES) >= 0) node.type = "QUOTE_DOUBLE";
    },
  });
  return document.toString({ lineWidth: 0 }).replaceAll(ACTIVE_IN_LINES, escaped);
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
