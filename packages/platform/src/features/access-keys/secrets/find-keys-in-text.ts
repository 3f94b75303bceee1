// Finds possible access keys in a text: values that clients have chosen have no format to search for.

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";

export const MIN_KEY_LENGTH = 32;
export const MAX_KEY_LENGTH = 1024;

/** Looking each one up costs hashes: some ten milliseconds for all. Texts that people write have few. */
const MAX_CANDIDATES = 4_000;

/**
 * Whether one of the texts that stand by themselves in a text is a key: between spaces, quotes, brackets and the like, behind the name
 * that it is given to, or as a string of the JSON that the text is.
 */
export function createKeyFinder(isKey: (text: string) => boolean): (text: string) => boolean {
  let left = MAX_CANDIDATES;
  return (text) => {
    for (const candidate of candidatesIn(text)) {
      if (candidate.length < MIN_KEY_LENGTH || candidate.length > MAX_KEY_LENGTH) continue;
      if (left-- <= 0) return false;
      if (isKey(candidate)) return true;
    }
    return false;
  };
}

/** JSON in a text in JSON, and so on: deeper nesting does not occur in practice, and each level reads the rest once more. */
const MAX_NESTED_TEXTS = 3;

function* candidatesIn(text: string, nested = 0): Generator<string> {
  if (text.length < MIN_KEY_LENGTH) return;
  for (const run of text.split(/[^!-~]+/)) {
    if (run.length < MIN_KEY_LENGTH) continue;
    yield run;
    for (const part of new Set([trimTrailing(run, ".!?"), ...run.split(/["'`,;<>()[\]{}]+/)])) {
      if (part !== run) yield part;
      const start = part.search(/[=:]/);
      if (start >= 0) yield part.slice(start + 1);
    }
  }
  if (nested === MAX_NESTED_TEXTS) return;
  for (const inner of jsonTextsIn(text)) if (inner !== text) yield* candidatesIn(inner, nested + 1);
}

/** The strings of a text that is JSON, without what escapes them there. */
function jsonTextsIn(text: string): readonly string[] {
  if (!/^\s*["[{]/.test(text)) return [];
  try {
    return textsOf(parseJson(Buffer.from(text)));
  } catch {
    return [];
  }
}

/** Every string in a value, the names of members among them. */
export function textsOf(value: JsonValue | undefined): readonly string[] {
  const texts: string[] = [];
  collectTexts(value, texts);
  return texts;
}

/** One list for all levels: lists of lists would be copied at each. */
function collectTexts(value: JsonValue | undefined, into: string[]): void {
  if (typeof value === "string") into.push(value);
  else if (isJsonArray(value)) for (const item of value) collectTexts(item, into);
  else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      into.push(name);
      collectTexts(member, into);
    }
  }
}
