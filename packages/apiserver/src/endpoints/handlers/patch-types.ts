// How each patch type computes the next state of an object from the current one.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go

import { findDuplicateFields } from "@postern/apimachinery/json/find-duplicate-fields";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { stringifyJson, withSortedMembers } from "@postern/apimachinery/json/stringify-json";
import {
  ApiError,
  badRequestError,
  invalidObjectError,
  requestEntityTooLargeError,
  untypedError,
} from "@postern/apimachinery/meta/api-error";
import { formatApiVersion, parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject, Timestamp } from "@postern/apimachinery/meta/object-meta";
import { applyJsonPatchInSteps } from "@postern/apimachinery/patch/apply-json-patch";
import {
  decodeJsonPatch,
  decodeJsonPatchLoosely,
  MAX_JSON_PATCH_OPERATIONS,
  MAX_JSON_POINTER_LENGTH,
} from "@postern/apimachinery/patch/decode-json-patch";
import {
  applyMergePatch,
  decodeMergePatch,
  decodeMergePatchLoosely,
  decodeStrategicMergePatch,
} from "@postern/apimachinery/patch/merge-patch";
import { StrategicMergePatchError } from "@postern/apimachinery/patch/patch-directives";
import { JsonPatchError, PatchDecodeError } from "@postern/apimachinery/patch/patch-errors";
import { applyStrategicMergePatch } from "@postern/apimachinery/patch/strategic-merge-patch";
import { findMetadataError } from "@postern/apimachinery/schema/embedded-objects/find-metadata-error";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { oneStep, type Steps } from "@postern/apimachinery/steps/steps";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "../../context/request-context.ts";
import type { ReadYaml } from "../../limits/work-threads.ts";
import type { InstalledResource } from "../../registry/resource-registry.ts";
import type { UpdateRequest } from "../../registry/resource-storage.ts";
import { findConversionFault, goText } from "../decode/conversion-fault.ts";
import { type BodyKind, conform, notAnObject, notAString } from "../decode/decode-object.ts";
import { applyFieldValidation, fieldValidationOf } from "../decode/field-validation.ts";
import { checkValues } from "../decode/parse-body.ts";
import { checkNameOfPath, inNamespaceOfPath } from "../decode/read-object.ts";
import { tidyMetadata } from "../decode/tidy-metadata.ts";
import { addDeprecationWarnings } from "./deprecation-warnings.ts";

export const JSON_PATCH = "application/json-patch+json";
export const MERGE_PATCH = "application/merge-patch+json";
export const STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json";
export const APPLY_PATCH = "application/apply-patch+yaml";

export type PatchInput = {
  readonly context: RequestContext;
  readonly resource: InstalledResource;
  readonly patchType: string;
  readonly bytes: Uint8Array;
  /** The YAML of an apply, if a thread has read it already. */
  readonly yaml: ReadYaml | undefined;
  readonly fieldValidation: string | undefined;
  readonly force: boolean;
  readonly manager: string;
  readonly now: Timestamp;
};

/** Removes the managed fields, which grow with the members there are. */
function withoutOwners(patched: JsonValue): JsonValue {
  if (!isJsonObject(patched) || !isJsonObject(patched["metadata"])) return patched;
  const { managedFields: _, ...metadata } = patched["metadata"];
  return { ...patched, metadata };
}

/** A patch read once, to be applied as often as it takes. */
export type Patch = {
  readonly apply: (document: JsonObject) => Steps<JsonValue>;
  /** Faults that a strict reader finds in the patch itself. */
  readonly strictErrors: readonly string[];
  /** The content of a strategic merge patch: refusals show it in place of the patched object. */
  readonly strategic?: JsonObject;
};

const utf8 = new TextDecoder();

/** The store request of a JSON, merge or strategic merge patch. */
export function patchRequest(input: PatchInput): Pick<UpdateRequest, "transform"> {
  const { context, resource, manager, now } = input;
  const { definition, fieldManager } = resource;
  const { subresource } = context.info;
  // A missing object is reported before the patch is checked.
  let patch: Patch | undefined;
  return {
    transform: (current) => context.inParts(steps(current)),
  };
  function* steps(current: KubeObject): Steps<KubeObject> {
    patch ??= yield* readPatch(input, definition.schema);
    yield;
    const patched = yield* patch.apply(current);
    yield;
    if (context.isLong) {
      checkValues(stringifyJson(withoutOwners(patched)));
      yield;
    }
    const next = yield* asObject(patched, definition, input, patch, current);
    addDeprecationWarnings(resource, next, context.warnings);
    checkNameOfPath(next, context);
    const placed = tidyMetadata(inNamespaceOfPath(next, definition, context), context.warnings);
    yield;
    return yield* fieldManager.updateInSteps({ live: current, next: placed, manager, subresource, now });
  }
}

/**
 * `schema` is that of the document, for strategic merge patches.
 * @throws ApiError 400 or 413; applying it throws 422 where it does not fit the document
 */
export function* readPatch(
  { patchType, bytes, fieldValidation }: Pick<PatchInput, "patchType" | "bytes" | "fieldValidation">,
  schema: StructuralSchema,
): Steps<Patch> {
  const text = utf8.decode(bytes);
  checkValues(text);
  yield;
  // Clients that ignore strict faults leave the reading to the libraries that apply the patch, whose words differ.
  const isLoose = fieldValidation === "Ignore";
  try {
    if (patchType === JSON_PATCH) return readJsonPatch(text, isLoose);
    if (patchType === MERGE_PATCH && isLoose) return looseMergePatch(decodeMergePatchLoosely(text));
    const patch = patchType === MERGE_PATCH ? decodeMergePatch(text) : decodeStrategicMergePatch(text);
    yield;
    const strictErrors = findDuplicateFields(text).map((path) => `duplicate field ${quoteGo(path)}`);
    if (patchType === MERGE_PATCH)
      return { apply: (document) => oneStep(() => applyMergePatch(document, patch)), strictErrors };
    return {
      apply: (document) => oneStep(() => strategicMerge(document, patch, schema)),
      strictErrors,
      strategic: patch,
    };
  } catch (error) {
    if (error instanceof PatchDecodeError) throw badRequestError(error.message, error);
    throw error;
  }
}

function strategicMerge(document: JsonObject, patch: JsonObject, schema: StructuralSchema): JsonValue {
  try {
    return applyStrategicMergePatch(document, patch, schema);
  } catch (error) {
    if (error instanceof StrategicMergePatchError) throw badRequestError(error.message, error);
    throw error;
  }
}

const looseMergePatch = (patch: JsonValue): Patch => ({
  apply: (document) => oneStep(() => applyMergePatch(document, patch)),
  strictErrors: [],
});

function readJsonPatch(text: string, isLoose: boolean): Patch {
  const { operations, strictErrors } = isLoose
    ? { operations: decodeJsonPatchLoosely(text), strictErrors: [] }
    : decodeJsonPatch(text);
  if (operations.length > MAX_JSON_PATCH_OPERATIONS) {
    throw requestEntityTooLargeError(
      `The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${operations.length}`,
    );
  }
  const longest = operations.reduce((most, { path = "", from = "" }) => Math.max(most, path.length, from.length), 0);
  if (longest > MAX_JSON_POINTER_LENGTH) {
    throw requestEntityTooLargeError(
      `The allowed maximum length of a path in a JSON patch is ${MAX_JSON_POINTER_LENGTH}, got ${longest}`,
    );
  }
  return {
    strictErrors,
    *apply(document) {
      try {
        return yield* applyJsonPatchInSteps(document, operations);
      } catch (error) {
        if (!(error instanceof JsonPatchError)) throw error;
        throw new ApiError({
          code: 422,
          reason: "Invalid",
          message: "the server rejected our request due to an error in our request",
          details: {},
          cause: error,
        });
      }
    },
  };
}

/** Checks what a patch made of an object as a body would be checked, with the texts of a patch. */
export function* asObject(
  patched: JsonValue,
  definition: BodyKind,
  { context, fieldValidation }: Pick<PatchInput, "context" | "fieldValidation">,
  { strictErrors, strategic }: Pick<Patch, "strictErrors" | "strategic">,
  current: KubeObject,
): Steps<KubeObject> {
  const refusal: Refusal = strategic === undefined ? patchError : strategicRefusal(strategic, definition);
  if (!isJsonObject(patched)) throw refusal(patched, () => notAnObject(patched));
  const { apiVersion, kind } = typeMetaOf(patched, definition, refusal, strategic !== undefined);
  checkKind(apiVersion, kind, definition, current);
  const { metadata = {} } = patched;
  const goType = definition.strategicMergePatch === true ? definition.kind : undefined;
  // Patches seldom touch it, and what they leave alone stays the same object.
  const isStored = metadata === current.metadata;
  const fault = metadata === null || isStored ? undefined : findMetadataError(metadata, goType);
  if (fault !== undefined) throw refusal(patched, () => fault);
  const isTyped = patched["apiVersion"] === apiVersion && patched["kind"] === kind && isStored;
  const typed = isTyped ? patched : { ...patched, apiVersion, kind, metadata: isJsonObject(metadata) ? metadata : {} };
  // checkKind has seen apiVersion and kind; conform gives metadata its type.
  const conformed = yield* conform(typed as unknown as KubeObject, definition, isStored);
  if ("fault" in conformed) throw refusal(patched, () => conformed.fault);
  const { object, unknown } = conformed;
  const faults = [...strictErrors, ...unknown];
  const directive = fieldValidationOf(fieldValidation);
  applyFieldValidation(directive, { warnings: faults, errors: faults }, context.warnings, (why) =>
    refusal(patched, () => why),
  );
  return object;
}

type Refusal = (patched: JsonValue, why: (text: string) => string) => ApiError;

const patchError: Refusal = (patched, why) => {
  const text = stringifyJson(withSortedMembers(patched));
  return invalidPatch(text, why(text));
};

const strategicRefusal =
  (patch: JsonObject, { schema }: BodyKind): Refusal =>
  (patched, why) =>
    invalidPatch(goText(patch), findConversionFault(patched, kindSchema(schema)) ?? why(""));

const invalidPatch = (shown: string, why: string): ApiError =>
  invalidObjectError({ group: "", kind: "" }, "", [invalidError("patch", shown, why)]);

/** An object with a Go type need not name its apiVersion and kind; `isConverted` into that type, it keeps its own whatever it names. */
function typeMetaOf(
  patched: JsonObject,
  definition: BodyKind,
  refusal: Refusal,
  isConverted: boolean,
): { readonly apiVersion: string; readonly kind: string } {
  const isTyped = definition.strategicMergePatch === true;
  const apiVersion = patched["apiVersion"] || (isTyped ? formatApiVersion(definition) : "");
  const kind = patched["kind"] || (isTyped ? definition.kind : "");
  // In the order of the text that upstream reads, whose members are sorted.
  if (typeof apiVersion !== "string") throw refusal(patched, () => notAString("apiVersion", apiVersion));
  if (typeof kind !== "string") throw refusal(patched, () => notAString("kind", kind));
  // Ansible scales a Deployment with a strategic merge patch of the kind Deployment.
  if (isConverted) return { apiVersion: formatApiVersion(definition), kind: definition.kind };
  if (parseApiVersion(apiVersion) === undefined) {
    throw refusal(patched, () => `unexpected GroupVersion string: ${apiVersion}`);
  }
  if (kind === "") throw refusal(patched, (text) => `Object 'Kind' is missing in '${text}'`);
  return { apiVersion, kind };
}

/** The refusal names a custom resource as what the patch makes of it. */
function checkKind(apiVersion: string, kind: string, definition: BodyKind, current: KubeObject): void {
  const expected = formatApiVersion(definition);
  const hasGoType = definition.strategicMergePatch === true;
  if (apiVersion === "" && !hasGoType) {
    throw untypedError("Object 'apiVersion' is missing in 'object has no apiVersion field'");
  }
  const errors: FieldError[] = [];
  if (kind !== definition.kind) errors.push(invalidError("kind", kind, `must be ${definition.kind}`));
  if (apiVersion !== expected) errors.push(invalidError("apiVersion", apiVersion, `must be ${expected}`));
  if (errors.length === 0) return;
  const subject = hasGoType ? definition : { group: parseApiVersion(apiVersion)?.group ?? "", kind };
  throw invalidObjectError(subject, current.metadata.name ?? "", errors);
}
