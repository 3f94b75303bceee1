// PATCH with an apply configuration: server-side apply.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go (applyPatcher)

import { goKindOf, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import {
  type ApiError,
  badRequestError,
  conflictError,
  notFoundError,
  untypedError,
} from "@postern/apimachinery/meta/api-error";
import { formatApiVersion, parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { setDefaults } from "@postern/apimachinery/schema/default";
import { coerceMetadata } from "@postern/apimachinery/schema/embedded-objects/coerce-metadata";
import { pruneUnknownFields } from "@postern/apimachinery/schema/prune";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { jsonOf, withoutManagedFields } from "@postern/structured-merge/managedfields/object-managed-fields";
import type { ReadYaml } from "../../limits/work-threads.ts";
import { groupResourceOf, type ResourceDefinition } from "../../registry/resource-definition.ts";
import type { UpdateRequest } from "../../registry/resource-storage.ts";
import { findConversionFault } from "../decode/conversion-fault.ts";
import { complete } from "../decode/decode-object.ts";
import { applyFieldValidation, fieldValidationOf, type StrictErrors } from "../decode/field-validation.ts";
import { checkValues, type ParsedBody, parseBodyInSteps } from "../decode/parse-body.ts";
import { checkNameOfPath, inNamespaceOfPath } from "../decode/read-object.ts";
import { tidyMetadata } from "../decode/tidy-metadata.ts";
import type { EndpointContext } from "../endpoint-context.ts";
import { authorizeCreation } from "./authorize-creation.ts";
import { addDeprecationWarnings } from "./deprecation-warnings.ts";
import type { PatchInput } from "./patch-types.ts";

/** The store request of an apply. An absent object is created, a status is not. */
export function applyRequest(
  input: PatchInput,
  endpoint: Pick<EndpointContext, "authorizer">,
): Omit<UpdateRequest, "subresource"> {
  const { context, resource } = input;
  const { subresource, name } = context.info;
  // A missing status is reported before the configuration is checked.
  let configuration: Configuration | undefined;
  function* steps(live: KubeObject | undefined): Steps<KubeObject> {
    configuration ??= yield* readConfiguration(input);
    return yield* applyTo(live, configuration, input);
  }
  return {
    keepsManagedFields: true,
    transform: (live) => context.inParts(steps(live)),
    async createWhenAbsent() {
      const groupResource = groupResourceOf(resource.definition);
      if (subresource !== "") throw notFoundError(groupResource, name);
      await authorizeCreation(context, endpoint);
      const created = await context.inParts(steps(undefined));
      const { resourceVersion: _, uid = "", ...metadata } = created.metadata;
      if (uid !== "") throw conflictError(groupResource, name, absentUid(uid));
      return { ...created, metadata };
    },
  };
}

const absentUid = (uid: string): string =>
  `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;

type Configuration = {
  readonly object: KubeObject;
  /** Faults that a strict reader finds, as warnings show them and as a refusal does. */
  readonly faults: StrictErrors;
};

/** The merge comes first, and refuses what it cannot place; then the result is held against the path and the schema. */
function* applyTo(live: KubeObject | undefined, configuration: Configuration, input: PatchInput): Steps<KubeObject> {
  const { context, resource, manager, force, now } = input;
  const { definition, fieldManager } = resource;
  const { subresource } = context.info;
  const applied = configuration.object;
  const merged = yield* fieldManager.applyInSteps({ live, applied, manager, force, subresource, now });
  if (context.isLong) {
    yield;
    checkValues(stringifyJson(jsonOf(withoutManagedFields(merged))));
  }
  applyFieldValidation(fieldValidationOf(input.fieldValidation), configuration.faults, context.warnings, () =>
    badRequestError(
      `error strict decoding YAML: error converting YAML to JSON: ${configuration.faults.errors.join(", ")}`,
    ),
  );
  const { metadata } = coerceMetadata(merged.metadata, definition.kind, definition.version);
  const placed = inNamespaceOfPath({ ...merged, metadata }, definition, context);
  checkNameOfPath(placed, context);
  yield;
  const { value } = pruneUnknownFields(placed, definition.schema, { isResourceRoot: true });
  // Pruning keeps the members that make it an object of a kind.
  return tidyMetadata(yield* completed(value as KubeObject, definition, applied), context.warnings);
}

/** Unlike in a body, a null that a custom resource's schema does not allow stays: it is refused, not dropped. */
function* completed(merged: KubeObject, definition: ResourceDefinition, applied: KubeObject): Steps<KubeObject> {
  yield;
  // Defaults change neither apiVersion, kind nor the type of metadata.
  if (definition.strategicMergePatch !== true) return setDefaults(merged, definition.schema) as KubeObject;
  const typed = yield* complete(merged, definition);
  if ("fault" in typed) {
    throw unconvertibleError(definition, applied, findConversionFault(merged, definition.schema) ?? typed.fault);
  }
  return typed.object;
}

/** Upstream merges what has no types yet, and takes a value that its types refuse for a failure of its own. */
function unconvertibleError({ group, version, kind }: ResourceDefinition, applied: KubeObject, why: string): ApiError {
  const { namespace = "", name = "" } = applied.metadata;
  const type = `${group}/${version}, Kind=${kind}`;
  return untypedError(
    `failed to convert new object (${namespace}/${name}; ${type}) to proper version: unable to convert unstructured object to ${type}: ${why}`,
  );
}

/** Unlike other bodies a configuration keeps its unknown fields: the merge refuses them whatever the client asked for. */
function* readConfiguration({ context, resource, bytes, yaml }: PatchInput): Steps<Configuration> {
  const { definition } = resource;
  const { value, duplicates, strictTexts } = yield* parseConfiguration(bytes, yaml);
  const object = withKind(value, definition.kind, formatApiVersion(definition));
  addDeprecationWarnings(resource, object, context.warnings);
  return { object, faults: { warnings: duplicates, errors: strictTexts } };
}

function* parseConfiguration(
  bytes: Uint8Array,
  yaml: ReadYaml | undefined,
): Steps<ParsedBody & { readonly value: JsonObject }> {
  const parsed = yield* parseYaml(bytes, yaml);
  const value = parsed.value ?? {};
  if (isJsonObject(value)) return { ...parsed, value };
  throw badRequestError(
    `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${goKindOf(value)} into Go value of ` +
      "type map[string]interface {}",
  );
}

function* parseYaml(bytes: Uint8Array, yaml: ReadYaml | undefined): Steps<ParsedBody> {
  try {
    return yield* parseBodyInSteps(bytes, { isYaml: true, wantsDuplicates: true, read: yaml });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw badRequestError(`error decoding YAML: error converting YAML to JSON: ${why}`, error);
  }
}

function withKind(fields: JsonObject, kind: string, apiVersion: string): KubeObject {
  const givenVersion = typeof fields["apiVersion"] === "string" ? fields["apiVersion"] : "";
  const givenKind = typeof fields["kind"] === "string" ? fields["kind"] : "";
  if (givenVersion !== apiVersion || givenKind !== kind) {
    const { group, version } = parseApiVersion(givenVersion) ?? { group: "", version: "" };
    throw badRequestError(`invalid object type: ${group}/${version}, Kind=${givenKind}`);
  }
  // The merge checks the type of metadata, like all others, and refuses a value that is no object.
  return { ...fields, apiVersion, kind, metadata: (fields["metadata"] ?? {}) as KubeObject["metadata"] };
}
