// Applies a JSON patch with the semantics of the library that kube-apiserver uses, which differ from RFC 6902.
// Source: github.com/evanphx/json-patch v4 patch.go

import { equalJson } from "../json/equal-json.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "../json/json-value.ts";
import { MAX_JSON_DEPTH } from "../json/parse-json.ts";
import { stringifyJson } from "../json/stringify-json.ts";
import { runSteps, type Steps } from "../steps/steps.ts";
import type { JsonPatchOperation } from "./decode-json-patch.ts";
import { JsonPatchError } from "./patch-errors.ts";
import { createPatchTarget, type PatchTarget } from "./patch-target.ts";

/** Characters of paths in one step; each operation counts as 500 more. */
const CHARACTERS_OF_STEP = 64 * 1024;
const CHARACTERS_OF_OPERATION = 500;

/** Most characters of JSON that all `copy` operations of one patch may copy. Stops chains that double. */
export const MAX_JSON_PATCH_COPY_SIZE = 3 * 1024 * 1024;

/**
 * The patched document; the input stays as it is. Unlike RFC 6902: `replace` creates an absent member, negative
 * indices count from the end, `add` cannot replace the whole document, an absent value is null, `test` takes an absent
 * member for null and compares by value, `copy` of an absent one gives null, and the first path segment is dropped with or without a leading slash.
 * Unlike upstream, which compares scalars as they are spelt: `test` takes 1 for 1.0 and an escaped letter for the letter, as RFC 6902 has it.
 * @throws JsonPatchError at the first operation that does not apply
 */
export function applyJsonPatch(
  document: JsonValue,
  operations: readonly JsonPatchOperation[],
  options: { readonly maxCopySize?: number } = {},
): JsonValue {
  return runSteps(applyJsonPatchInSteps(document, operations, options));
}

/** A step for a hundred operations, or fewer with long paths: each may look through a large object. */
export function* applyJsonPatchInSteps(
  document: JsonValue,
  operations: readonly JsonPatchOperation[],
  options: { readonly maxCopySize?: number } = {},
): Steps<JsonValue> {
  if (operations.length === 0) return document;
  const target = createPatchTarget(document);
  try {
    yield* applyAll(target, operations, options.maxCopySize ?? MAX_JSON_PATCH_COPY_SIZE);
  } catch (error) {
    // Moves and copies can nest a document deeper than the walks of later operations can follow.
    if (error instanceof RangeError) throw tooDeep();
    throw error;
  }
  yield;
  const patched = target.document();
  yield;
  if (nestsDeeper(patched, MAX_JSON_DEPTH)) throw tooDeep();
  return patched;
}

const tooDeep = (): JsonPatchError => new JsonPatchError("the patched document exceeded max depth");

function* applyAll(target: PatchTarget, operations: readonly JsonPatchOperation[], maxCopySize: number): Steps<void> {
  let copyBudget = maxCopySize;
  let characters = 0;
  for (const operation of operations) {
    characters += CHARACTERS_OF_OPERATION + (operation.path?.length ?? 0) + (operation.from?.length ?? 0);
    if (characters > CHARACTERS_OF_STEP) {
      characters = 0;
      yield;
    }
    switch (operation.op) {
      case "add":
        applyAdd(target, operation);
        break;
      case "remove":
        applyRemove(target, operation);
        break;
      case "replace":
        applyReplace(target, operation);
        break;
      case "move":
        applyMove(target, operation);
        break;
      case "test":
        applyTest(target, operation);
        break;
      case "copy":
        copyBudget -= applyCopy(target, operation, copyBudget);
        break;
      default:
        throw new JsonPatchError(`Unexpected kind: ${operation.op ?? "unknown"}`);
    }
  }
}

function applyAdd(target: PatchTarget, operation: JsonPatchOperation): void {
  const path = pathOf(operation);
  const place = target.find(path);
  if (place === undefined) throw missing(`add operation does not apply: doc is missing path: "${path}"`);
  within(`error in add for path: '${path}'`, () => place.add(operandOf(operation)));
}

function applyRemove(target: PatchTarget, operation: JsonPatchOperation): void {
  const path = pathOf(operation);
  const place = target.find(path);
  if (place === undefined) throw missing(`remove operation does not apply: doc is missing path: "${path}"`);
  within(`error in remove for path: '${path}'`, () => place.remove());
}

function applyReplace(target: PatchTarget, operation: JsonPatchOperation): void {
  const path = pathOf(operation);
  const value = operandOf(operation);
  if (path === "") {
    if (!isJsonObject(value) && !isJsonArray(value)) {
      throw new JsonPatchError("replace operation value must be object or array");
    }
    target.reset(value);
    return;
  }
  const place = target.find(path);
  if (place === undefined) throw missing(`replace operation does not apply: doc is missing path: ${path}`);
  within(`replace operation does not apply: doc is missing key: ${path}`, () => place.get(), "missing value");
  within(`error in replace for path: '${path}'`, () => place.set(value));
}

function applyMove(target: PatchTarget, operation: JsonPatchOperation): void {
  const from = fromOf(operation);
  const source = target.find(from);
  if (source === undefined) throw missing(`move operation does not apply: doc is missing from path: ${from}`);
  const value = within(`error in move for path: '${source.key}'`, () => {
    const found = source.get() ?? null;
    source.remove();
    return found;
  });
  const path = pathOf(operation);
  const place = target.find(path);
  if (place === undefined) throw missing(`move operation does not apply: doc is missing destination path: ${path}`);
  within(`error in move for path: '${path}'`, () => place.add(value));
}

function applyTest(target: PatchTarget, operation: JsonPatchOperation): void {
  const path = pathOf(operation);
  let actual: JsonValue;
  if (path === "") actual = target.document();
  else {
    const place = target.find(path);
    if (place === undefined) throw missing(`test operation does not apply: is missing path: ${path}`);
    actual = within(`error in test for path: '${path}'`, () => place.get() ?? null);
  }
  if (!equalJson(actual, operandOf(operation))) throw new JsonPatchError(`testing value ${path} failed: test failed`);
}

/** Returns how much it copied. */
function applyCopy(target: PatchTarget, operation: JsonPatchOperation, budget: number): number {
  const from = fromOf(operation);
  const source = target.find(from);
  if (source === undefined) throw missing(`copy operation does not apply: doc is missing from path: ${from}`);
  const value = within(`error in copy for from: '${from}'`, () => source.get() ?? null);
  const path = pathOf(operation);
  const place = target.find(path);
  if (place === undefined) throw missing(`copy operation does not apply: doc is missing destination path: ${path}`);
  const size = stringifyJson(value).length;
  if (size > budget) {
    throw new JsonPatchError(
      `Unable to complete the copy, the accumulated size increase of copy is ${size - budget} over the limit`,
    );
  }
  within("error while adding value during copy", () => place.add(target.detach(value)));
  return size;
}

function pathOf({ op, path }: JsonPatchOperation): string {
  if (path === undefined) throw missing(`${op} operation failed to decode path`);
  return path;
}

function fromOf({ op, from }: JsonPatchOperation): string {
  if (from === undefined) throw missing(`${op} operation failed to decode from: operation, missing from field`);
  return from;
}

const operandOf = ({ value }: JsonPatchOperation): JsonValue => value ?? null;

const missing = (message: string): JsonPatchError => new JsonPatchError(`${message}: missing value`);

/** Says in which operation a fault of its place arose; `why` overrides the fault's own words. */
function within<T>(context: string, act: () => T, why?: string): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof JsonPatchError)) throw error;
    throw new JsonPatchError(`${context}: ${why ?? error.message}`);
  }
}

/** Whether arrays and objects nest deeper than `maxDepth`. Its own recursion ends there. */
function nestsDeeper(value: JsonValue | undefined, maxDepth: number): boolean {
  if (isJsonArray(value)) return maxDepth === 0 || value.some((item) => nestsDeeper(item, maxDepth - 1));
  if (!isJsonObject(value)) return false;
  if (maxDepth === 0) return true;
  for (const name of Object.keys(value)) if (nestsDeeper(value[name], maxDepth - 1)) return true;
  return false;
}
