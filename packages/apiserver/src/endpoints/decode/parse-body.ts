// Parses the text of a body, and collects what strict decoding would reject.

import { findDuplicateFields } from "@postern/apimachinery/json/find-duplicate-fields";
import { hasMoreValues } from "@postern/apimachinery/json/has-more-values";
import { JsonSyntaxError } from "@postern/apimachinery/json/json-syntax-error";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { requestEntityTooLargeError } from "@postern/apimachinery/meta/api-error";
import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { type DecodedYaml, decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { YamlError } from "@postern/apimachinery/yaml/yaml-error";
import type { RequestContext } from "../../context/request-context.ts";
import type { ReadYaml } from "../../limits/work-threads.ts";

export type ParsedBody = {
  readonly value: JsonValue;
  /** Texts about duplicate fields, one each, as warnings show them. */
  readonly duplicates: readonly string[];
  /** The same as the message of a strict refusal shows them. */
  readonly strictTexts: readonly string[];
};

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Longer texts are read in a thread: reading takes as many milliseconds as the text has kilobytes. */
const YAML_AT_ONCE = 4 * 1024;

/** The YAML of a body as a thread has read it. Undefined where it is short, or JSON, which is YAML as well. */
export async function readYamlInThread(context: RequestContext, bytes: Uint8Array): Promise<ReadYaml | undefined> {
  if (bytes.length <= YAML_AT_ONCE) return undefined;
  const text = utf8.decode(bytes);
  // JSON with a fault or duplicates in it is read once more, as YAML: a thread may do both.
  return await context.runInThread("decodeYaml", () => ({ text }));
}

export type ParseOptions = {
  /** Default: JSON. */
  readonly isYaml?: boolean;
  /** Default: they are not looked for in JSON, which saves a second scan. */
  readonly wantsDuplicates?: boolean;
  /** The YAML as a thread has read it. */
  readonly read?: ReadYaml | undefined;
};

export const parseBody = (bytes: Uint8Array, options: ParseOptions): ParsedBody =>
  runSteps(parseBodyInSteps(bytes, options));

export function* parseBodyInSteps(
  bytes: Uint8Array,
  { isYaml = false, wantsDuplicates = false, read }: ParseOptions,
): Steps<ParsedBody> {
  if (!isYaml) return yield* parseJsonBody(utf8.decode(bytes), { wantsDuplicates });
  const { value, duplicates } = read === undefined ? decodeYaml(utf8.decode(bytes)) : yield* valueRead(read);
  yield;
  return {
    value,
    duplicates,
    strictTexts: duplicates.length === 0 ? [] : [`yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`],
  };
}

function* valueRead(read: ReadYaml): Steps<DecodedYaml> {
  if ("fault" in read) throw new YamlError(read.fault);
  const { value } = yield* parseJsonBody(read.json, {});
  return { value, duplicates: read.duplicates };
}

/**
 * Members and items that a body, or the result of a patch, may have; those beyond the first thousand of one object or list count
 * twice. Each costs a microsecond or less in each of a dozen walks, of which one is the longest that others wait for. The largest definitions of
 * custom resources in use have fifty thousand; a ConfigMap of one mebibyte can be one member.
 */
export const MAX_BODY_VALUES = 60_000;

const TOO_MANY = `more than ${MAX_BODY_VALUES} members and items`;

/** @throws ApiError 413 for a patch, or for what one has made, that is more than a body may be. */
export function checkValues(text: string): void {
  if (hasMoreValues(text, MAX_BODY_VALUES)) throw requestEntityTooLargeError(`it has ${TOO_MANY}`);
}

function* parseJsonBody(text: string, { wantsDuplicates }: Pick<ParseOptions, "wantsDuplicates">): Steps<ParsedBody> {
  if (hasMoreValues(text, MAX_BODY_VALUES)) {
    throw new JsonSyntaxError(`the body has ${TOO_MANY}`);
  }
  yield;
  const value = parseJson(text);
  yield;
  const duplicates = wantsDuplicates ? findDuplicateFields(text).map((path) => `duplicate field ${quoteGo(path)}`) : [];
  return { value, duplicates, strictTexts: duplicates };
}
