// Validates the defaults in a schema against the schema.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { validateEmbeddedResources } from "@postern/apimachinery/schema/embedded-objects/validate-embedded-resources";
import { pruneUnknownFields } from "@postern/apimachinery/schema/prune";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import {
  createSchemaValidator,
  SchemaValidationTooLongError,
} from "@postern/apimachinery/schema/validation/validate-schema";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { childPath, type FieldError, invalidError, keyPath } from "@postern/apimachinery/validation/field-error";
import { compileValidationRulesInSteps } from "./validation-rules.ts";

/** Defaults whose rules are checked, and what each of them may cost. Others are left to the objects that get them: a tenant writes as many as it likes. */
const MAX_RULED_DEFAULTS = 100;
const MAX_COST = 10_000;
/** Limit for validating one default, in steps of a pattern: some milliseconds. */
const MAX_STEPS = 100_000;

type Check = { readonly faults: FieldError[]; ruledLeft: number };

/** Faults of all defaults below `path`, that of the schema. A step for each default: a definition may have thousands. */
export function* validateDefaults(schema: StructuralSchema, path: string): Steps<readonly FieldError[]> {
  const check: Check = { faults: [], ruledLeft: MAX_RULED_DEFAULTS };
  yield* validateNode(schema, { path, isMetadata: false }, check);
  return check.faults;
}

type Place = {
  readonly path: string;
  /** Fields of an embedded resource that need no declaration. */
  readonly isMetadata: boolean;
};

const METADATA = new Set(["apiVersion", "kind", "metadata"]);

function* validateNode(schema: StructuralSchema, { path, isMetadata }: Place, check: Check): Steps<void> {
  const { default: value, items, properties = {} } = schema;
  if (value !== undefined && value !== null) {
    yield;
    const at = { path: childPath(path, "default"), isMetadata };
    check.faults.push(...(yield* faultsOfDefault(value, schema, at, check)));
  }
  const isResource = schema["x-kubernetes-embedded-resource"] === true;
  const below = isMetadata && !isResource;
  if (items !== undefined) yield* validateNode(items, { path: childPath(path, "items"), isMetadata: below }, check);
  for (const [name, property] of Object.entries(properties)) {
    const at = keyPath(childPath(path, "properties"), name);
    yield* validateNode(property, { path: at, isMetadata: below || (isResource && METADATA.has(name)) }, check);
  }
}

function* faultsOfDefault(
  value: JsonValue,
  schema: StructuralSchema,
  { path, isMetadata }: Place,
  check: Check,
): Steps<readonly FieldError[]> {
  if (!isMetadata) {
    const isResourceRoot = schema["x-kubernetes-embedded-resource"] === true;
    const { unknownPaths } = pruneUnknownFields(value, schema, { isResourceRoot });
    if (unknownPaths.length > 0) return [invalidError(path, value, "must not have unknown fields")];
    const embedded = validateEmbeddedResources(value, schema, path);
    if (embedded.length > 0) return embedded;
  }
  const types = typeFaults(value, schema);
  if (types.length > 0) return types.map((fault) => below(path, fault));
  if (check.ruledLeft === 0) return [];
  const rules = yield* compileValidationRulesInSteps(schema, path, { all: [], tolerated: new Set() });
  if (rules === undefined) return [];
  check.ruledLeft--;
  // Rules may apply to any value, although most apply to whole objects.
  const broken = rules(value as unknown as KubeObject, undefined, () => {}, MAX_COST) ?? [];
  return broken.map((fault) => below(path, fault));
}

/** Empty if finding them would take long. */
function typeFaults(value: JsonValue, schema: StructuralSchema): readonly FieldError[] {
  try {
    return createSchemaValidator(schema).validate(value, { most: MAX_STEPS });
  } catch (error) {
    if (error instanceof SchemaValidationTooLongError) return [];
    throw error;
  }
}

/** Errors of the whole value have no path. */
const below = (path: string, { field, ...fault }: FieldError): FieldError => {
  if (field === "" || field === "<nil>") return { ...fault, field: path };
  return { ...fault, field: field.startsWith("[") ? `${path}${field}` : childPath(path, field) };
};
