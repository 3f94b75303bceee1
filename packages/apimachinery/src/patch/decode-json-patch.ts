// Decodes a JSON patch, and reports what strict decoding would reject.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go (applyJSPatch)

import { findDuplicateFields } from "../json/find-duplicate-fields.ts";
import { JsonSyntaxError } from "../json/json-syntax-error.ts";
import { getMember, goKindOf, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { parseJson } from "../json/parse-json.ts";
import { quoteGo } from "../text/go-quote.ts";
import { PatchDecodeError } from "./patch-errors.ts";

/** More operations than this are answered with 413. */
export const MAX_JSON_PATCH_OPERATIONS = 10_000;

/** Characters of a path: far more than those of any field. Longer ones are answered with 413. */
export const MAX_JSON_POINTER_LENGTH = 64 * 1024;

/** One step of a JSON patch. An absent member and a null are the same. */
export type JsonPatchOperation = {
  /** `add`, `remove`, `replace`, `move`, `copy` or `test`; others fail when applied. */
  readonly op?: string;
  readonly path?: string;
  readonly from?: string;
  /** Absent means null. */
  readonly value?: JsonValue;
};

export type DecodedJsonPatch = {
  readonly operations: readonly JsonPatchOperation[];
  /** Such as `json patch unknown field "[0].foo"`: warnings, or the refusal under strict field validation. */
  readonly strictErrors: readonly string[];
};

const OPERATION_MEMBERS = new Set(["op", "path", "from", "value"]);

/**
 * @throws PatchDecodeError `error decoding patch: …`, since a strict reader comes first: see `decodeJsonPatchLoosely` for what is left
 * without one.
 */
export function decodeJsonPatch(text: string): DecodedJsonPatch {
  const document = parsePatch(text);
  const steps = document === null ? [] : document;
  if (!isJsonArray(steps)) throw cannotUnmarshal(steps, "value of type []handlers.jsonPatchOp");
  const strictErrors = findDuplicateFields(text).map((field) => `json patch duplicate field ${quoteGo(field)}`);
  const operations = steps.map((step, i) => {
    if (step === null) return {};
    if (!isJsonObject(step)) throw cannotUnmarshal(step, "value of type handlers.jsonPatchOp");
    for (const name of Object.keys(step)) {
      if (!OPERATION_MEMBERS.has(name)) strictErrors.push(`json patch unknown field ${quoteGo(`[${i}].${name}`)}`);
    }
    return toOperation(step);
  });
  return { operations, strictErrors };
}

/**
 * Decodes a patch without a check for unknown and duplicate fields: a member that is no text reads as absent.
 * @throws PatchDecodeError in the words of the library that applies the patch
 */
export function decodeJsonPatchLoosely(text: string): readonly JsonPatchOperation[] {
  const document = parsePatch(text, "");
  const steps = document === null ? [] : document;
  if (!isJsonArray(steps)) throw cannotUnmarshal(steps, "value of type jsonpatch.Patch", "");
  return steps.map((step) => {
    if (step === null) return {};
    if (!isJsonObject(step)) throw cannotUnmarshal(step, "value of type jsonpatch.Operation", "");
    const texts = Object.entries(step).filter(([name, member]) => name === "value" || typeof member === "string");
    return toOperation(Object.fromEntries(texts));
  });
}

const DECODING = "error decoding patch: ";

/** Parses the body of any JSON patch type. */
export function parsePatch(text: string, prefix = DECODING): JsonValue {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new PatchDecodeError(`${prefix}${error.message}`, { cause: error });
  }
}

export function cannotUnmarshal(value: JsonValue, target: string, prefix = DECODING): PatchDecodeError {
  return new PatchDecodeError(`${prefix}json: cannot unmarshal ${goKindOf(value)} into Go ${target}`);
}

function toOperation(step: JsonObject): JsonPatchOperation {
  const op = textMember(step, "op");
  const path = textMember(step, "path");
  const from = textMember(step, "from");
  const value = getMember(step, "value");
  return {
    ...(op === undefined ? {} : { op }),
    ...(path === undefined ? {} : { path }),
    ...(from === undefined ? {} : { from }),
    ...(value === undefined ? {} : { value }),
  };
}

function textMember(step: JsonObject, name: string): string | undefined {
  const value = getMember(step, name) ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw cannotUnmarshal(value, `struct field jsonPatchOp.${name} of type string`);
}
