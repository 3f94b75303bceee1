// Creates a ResourceDefinition for each served version of a CustomResourceDefinition.
// Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import { readCrdSchema } from "@postern/apimachinery/schema/crd/read-crd-schema";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import { compareVersionPriority } from "@postern/apiserver/endpoints/discovery/api-groups";
import type {
  PrinterColumn,
  ResourceDefinition,
  ScaleSubresource,
} from "@postern/apiserver/registry/resource-definition";
import type { RuleFaults } from "./compile-rules.ts";
import { compileValidationRulesInSteps, type ValidationRules } from "./validation-rules.ts";

const CRD_KIND = { group: "apiextensions.k8s.io", kind: "CustomResourceDefinition" };

const COLUMN_TYPES = new Set(["string", "integer", "number", "boolean", "date"]);

/** Throws 422 with the invalid fields of all versions: schemas that are not structural, and rules that do not compile. */
export function definitionsFromCrd(crd: JsonObject): readonly ResourceDefinition[] {
  const { definitions, faults } = runSteps(compileCrd(crd));
  if (faults.length > 0) throw invalidObjectError(CRD_KIND, textAt(objectAt(crd, "metadata"), "name"), faults);
  return definitions;
}

export type CompiledCrd = {
  readonly definitions: readonly ResourceDefinition[];
  readonly faults: readonly FieldError[];
  /** All of them are such that a stored definition is served all the same. */
  readonly isServable: boolean;
  /** The schemas of all versions, with their paths. */
  readonly schemas: readonly { readonly schema: StructuralSchema; readonly path: string }[];
};

/** The definitions of the served versions; none if there are errors with which none can be served. */
export function* compileCrd(crd: JsonObject): Steps<CompiledCrd> {
  const spec = objectAt(crd, "spec");
  const { versions, faults } = yield* compileVersions(crd);
  const isServable = faults.all.every((fault) => faults.tolerated.has(fault));
  if (!isServable) return { definitions: [], faults: faults.all, isServable, schemas: [] };
  const group = textAt(spec, "group");
  const schemas = new Map(
    versions.map(({ name, schema }) => [formatApiVersion({ group, version: name }), schema] as const),
  );
  const definitions = versions
    .filter(({ version }) => version["served"] !== false)
    .map((version) => definitionOf(spec, version, schemas));
  const described = versions.map(({ ruleSchema: schema, at: path }) => ({ schema, path }));
  return { definitions, faults: faults.all, isServable, schemas: described };
}

function* compileVersions(
  crd: JsonObject,
): Steps<{ readonly versions: readonly CompiledVersion[]; readonly faults: RuleFaults }> {
  const faults: RuleFaults = { all: [], tolerated: new Set() };
  const listed = listAt(objectAt(crd, "spec"), "versions");
  const versions: CompiledVersion[] = [];
  for (const [index, version] of listed.entries()) {
    if (isJsonObject(version)) {
      yield;
      versions.push(yield* compileVersion(crd, version, `spec.versions[${index}]`, faults));
    }
  }
  return { versions, faults };
}

type CompiledVersion = {
  readonly name: string;
  readonly version: JsonObject;
  readonly schema: StructuralSchema;
  readonly rules: ValidationRules | undefined;
  /** From the definition, without the fields of every object. */
  readonly ruleSchema: StructuralSchema;
  /** The path of the schema in the definition. */
  readonly at: string;
};

function* compileVersion(
  crd: JsonObject,
  version: JsonObject,
  path: string,
  faults: RuleFaults,
): Steps<CompiledVersion> {
  const name = textAt(version, "name");
  const { schema, errors } = readCrdSchema(crd, name);
  faults.all.push(...errors);
  yield;
  const at = `${path}.schema.openAPIV3Schema`;
  // Rules get their types from the schema: those of a faulty one would only be named along with it.
  const rules = errors.length > 0 ? undefined : yield* compileValidationRulesInSteps(schema, at, faults);
  return { name, version, schema: kindSchema(schema), rules, ruleSchema: schema, at };
}

function definitionOf(
  spec: JsonObject,
  { name: versionName, version, schema, rules, ruleSchema }: CompiledVersion,
  storedSchemas: ReadonlyMap<string, StructuralSchema>,
): ResourceDefinition {
  const names = objectAt(spec, "names");
  const subresources = objectAt(version, "subresources");
  const columns = listAt(version, "additionalPrinterColumns").filter(isJsonObject).map(columnOf);
  const selectableFields = listAt(version, "selectableFields")
    .filter(isJsonObject)
    .map((field) => textAt(field, "jsonPath"));
  const scale = subresources["scale"];
  const kind = textAt(names, "kind");
  const [group, plural] = [textAt(spec, "group"), textAt(names, "plural")];
  const stored = listAt(spec, "versions").find((other) => isJsonObject(other) && other["storage"] === true);
  const storedVersion = isJsonObject(stored) ? textAt(stored, "name") : versionName;
  const otherVersions = listAt(spec, "versions")
    .filter(isJsonObject)
    .map((other) => textAt(other, "name"))
    .filter((other) => other !== versionName);
  return {
    group,
    version: versionName,
    kind,
    plural,
    singular: textAt(names, "singular") || kind.toLowerCase(),
    ...(textAt(names, "listKind") === "" ? {} : { listKind: textAt(names, "listKind") }),
    shortNames: listAt(names, "shortNames").filter(isText),
    categories: listAt(names, "categories").filter(isText),
    namespaced: textAt(spec, "scope") === "Namespaced",
    schema,
    hasStatus: subresources["status"] !== undefined,
    ...(isJsonObject(scale) ? { scale: scaleOf(scale) } : {}),
    ...(rules === undefined ? {} : { rules, ruleSchema }),
    ...(columns.length === 0 ? {} : { columns }),
    ...(selectableFields.length === 0 ? {} : { selectableFields }),
    // Without a webhook, versions differ only in their fields and defaults.
    ...(storedVersion === versionName ? {} : { storedAs: { group, version: storedVersion, kind, plural } }),
    storedSchemas,
    ...(otherVersions.length === 0 ? {} : { otherVersions }),
    ...(version["deprecated"] === true ? { deprecationWarning: deprecationWarning(spec, version) } : {}),
  };
}

/** Names the newest version that is not deprecated, if there is a newer one. */
function deprecationWarning(spec: JsonObject, version: JsonObject): string {
  const own = textAt(version, "deprecationWarning");
  if (own !== "") return own;
  const [group, kind, name] = [textAt(spec, "group"), textAt(objectAt(spec, "names"), "kind"), textAt(version, "name")];
  const [newest] = listAt(spec, "versions")
    .filter(isJsonObject)
    .filter((other) => other["served"] !== false && other["deprecated"] !== true)
    .map((other) => textAt(other, "name"))
    .filter((other) => compareVersionPriority(other, name) < 0)
    .sort(compareVersionPriority);
  const better = newest === undefined ? "" : `; use ${group}/${newest} ${kind}`;
  return `${group}/${name} ${kind} is deprecated${better}`;
}

function columnOf(column: JsonObject): PrinterColumn {
  const type = textAt(column, "type");
  const { format, description, priority } = column;
  return {
    name: textAt(column, "name"),
    // The set has exactly the types of a column.
    type: (COLUMN_TYPES.has(type) ? type : "string") as PrinterColumn["type"],
    value: textAt(column, "jsonPath"),
    ...(isText(format) ? { format } : {}),
    ...(isText(description) && description !== "" ? { description } : {}),
    ...(typeof priority === "number" ? { priority } : {}),
  };
}

function scaleOf(scale: JsonObject): ScaleSubresource {
  const labelSelectorPath = textAt(scale, "labelSelectorPath");
  return {
    specReplicasPath: textAt(scale, "specReplicasPath"),
    statusReplicasPath: textAt(scale, "statusReplicasPath"),
    ...(labelSelectorPath === "" ? {} : { labelSelectorPath }),
  };
}

const isText = (value: JsonValue | undefined): value is string => typeof value === "string";

function objectAt(object: JsonObject, member: string): JsonObject {
  const value = object[member];
  return isJsonObject(value) ? value : {};
}

function listAt(object: JsonObject, member: string): readonly JsonValue[] {
  const value = object[member];
  return isJsonArray(value) ? value : [];
}

function textAt(object: JsonObject, member: string): string {
  const value = object[member];
  return isText(value) ? value : "";
}
