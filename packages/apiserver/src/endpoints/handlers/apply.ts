// PATCH with an apply configuration: server-side apply.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go (applyPatcher)

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { badRequestError, notFoundError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion, parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { coerceMetadata } from "@postern/apimachinery/schema/coerce-metadata";
import { applyDefaults, setDefaults } from "@postern/apimachinery/schema/default";
import { pruneUnknownFields } from "@postern/apimachinery/schema/prune";
import type { UpdateRequest } from "../../registry/resource-storage.ts";
import { applyFieldValidation, fieldValidationOf } from "../decode/field-validation.ts";
import { parseBody } from "../decode/parse-body.ts";
import { checkNameOfPath, inNamespaceOfPath } from "../decode/read-object.ts";
import { tidyMetadata } from "../decode/tidy-metadata.ts";
import { addDeprecationWarnings } from "./deprecation-warnings.ts";
import type { PatchInput } from "./patch-types.ts";

/** What an apply asks of the store. An absent object is created, a status is not. */
export function applyRequest(input: PatchInput): Pick<UpdateRequest, "transform" | "createWhenAbsent"> {
  const { context, resource, manager, force, now } = input;
  const { definition, fieldManager } = resource;
  const { subresource, name } = context.info;
  const applied = readConfiguration(input);
  const apply = (live: KubeObject | undefined): KubeObject => {
    const merged = fieldManager.apply({ live, applied, manager, force, subresource, now });
    const { value } = pruneUnknownFields(merged, definition.schema, { isResourceRoot: true });
    // Unlike in a body, a null that the schema does not allow stays: it is refused, not dropped. Kinds with Go types have no nulls.
    const complete = definition.strategicMergePatch === true ? applyDefaults : setDefaults;
    // Pruning and defaults keep the members that make it an object of a kind.
    return tidyMetadata(complete(value, definition.schema) as KubeObject, context.warnings);
  };
  return {
    transform: apply,
    createWhenAbsent() {
      if (subresource !== "") throw notFoundError({ group: definition.group, resource: definition.plural }, name);
      const created = apply(undefined);
      const { resourceVersion: _, ...metadata } = created.metadata;
      return { ...created, metadata };
    },
  };
}

/** Unlike other bodies a configuration keeps its unknown fields: the merge refuses them whatever the client asked for. */
function readConfiguration({ context, resource, bytes, fieldValidation }: PatchInput): KubeObject {
  const { definition } = resource;
  const { value, duplicates, strictTexts } = parseConfiguration(bytes);
  const applied = withKind(value, definition.kind, formatApiVersion(definition));
  const faults = { warnings: duplicates, errors: strictTexts };
  applyFieldValidation(fieldValidationOf(fieldValidation), faults, context.warnings, (why) =>
    badRequestError(`error decoding YAML: ${why}`),
  );
  const { metadata } = coerceMetadata(applied.metadata, definition.kind, definition.version);
  const object = { ...applied, metadata };
  checkNameOfPath(object, context);
  addDeprecationWarnings(resource, object, context.warnings);
  return inNamespaceOfPath(object, definition, context);
}

function parseConfiguration(bytes: Uint8Array) {
  try {
    return parseBody(bytes, true, true);
  } catch (error) {
    throw badRequestError(`error decoding YAML: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

function withKind(value: JsonValue, kind: string, apiVersion: string): KubeObject {
  const fields = isJsonObject(value) ? value : {};
  const givenVersion = typeof fields["apiVersion"] === "string" ? fields["apiVersion"] : "";
  const givenKind = typeof fields["kind"] === "string" ? fields["kind"] : "";
  if (givenVersion !== apiVersion || givenKind !== kind) {
    const { group, version } = parseApiVersion(givenVersion) ?? { group: "", version: "" };
    throw badRequestError(`invalid object type: ${group}/${version}, Kind=${givenKind}`);
  }
  const { metadata = {} } = fields;
  // coerceMetadata gives metadata its type right after.
  return { ...fields, apiVersion, kind, metadata: metadata as KubeObject["metadata"] };
}
