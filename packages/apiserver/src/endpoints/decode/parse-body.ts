// Reads the text of a body into a value, and remembers what a strict reader would object to.

import { findDuplicateFields } from "@postern/apimachinery/json/find-duplicate-fields";
import { hasMoreValues } from "@postern/apimachinery/json/has-more-values";
import { JsonSyntaxError } from "@postern/apimachinery/json/json-syntax-error";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { atOnce, type Steps } from "@postern/apimachinery/steps/steps";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";

export type ParsedBody = {
  readonly value: JsonValue;
  /** Texts about duplicate fields, one each, as warnings show them. */
  readonly duplicates: readonly string[];
  /** The same as the message of a strict refusal shows them. */
  readonly strictTexts: readonly string[];
};

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

export const parseBody = (bytes: Uint8Array, isYaml: boolean, wantsDuplicates: boolean): ParsedBody =>
  atOnce(parseBodyInSteps(bytes, isYaml, wantsDuplicates));

/** `wantsDuplicates` is false where nobody will look, which saves a second scan of JSON. */
export function* parseBodyInSteps(bytes: Uint8Array, isYaml: boolean, wantsDuplicates: boolean): Steps<ParsedBody> {
  const text = utf8.decode(bytes);
  if (!isYaml) return yield* parseJsonBody(text, wantsDuplicates);
  const { value, duplicates } = decodeYaml(text);
  return {
    value,
    duplicates,
    strictTexts: duplicates.length === 0 ? [] : [`yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`],
  };
}

/**
 * So many members and items a body may have. Each costs a microsecond or more at several stages, during which nobody else is served. The largest
 * definitions of custom resources in use have fifty thousand; a ConfigMap of one mebibyte can be one member.
 */
export const MAX_BODY_VALUES = 150_000;

function* parseJsonBody(text: string, wantsDuplicates: boolean): Steps<ParsedBody> {
  if (hasMoreValues(text, MAX_BODY_VALUES)) {
    throw new JsonSyntaxError(`the body has more than ${MAX_BODY_VALUES} members and items`);
  }
  yield;
  const value = parseJson(text);
  yield;
  const duplicates = wantsDuplicates ? findDuplicateFields(text).map((path) => `duplicate field ${quoteGo(path)}`) : [];
  return { value, duplicates, strictTexts: duplicates };
}
