// Takes the schema of one version out of a CustomResourceDefinition, and refuses what is not structural.
// Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import { type FieldError, notFoundFieldError, requiredError } from "../../validation/field-error.ts";
import { type ReadSchema, readSchema } from "./read-schema.ts";
import { validateStructural } from "./validate-structural.ts";

/**
 * `schema` is usable only when there are no errors; their paths begin at the definition, such as
 * `spec.versions[0].schema.openAPIV3Schema.properties[spec].type`.
 */
export function readCrdSchema(definition: JsonObject, version: string): ReadSchema {
  const spec = isJsonObject(definition["spec"]) ? definition["spec"] : {};
  const versions = isJsonArray(spec["versions"]) ? spec["versions"] : [];
  const index = versions.findIndex((entry) => isJsonObject(entry) && entry["name"] === version);
  if (index === -1) return refused(notFoundFieldError("spec.versions", version));
  const path = `spec.versions[${index}].schema.openAPIV3Schema`;
  const json = schemaOf(versions[index]);
  if (json === undefined || json === null) return refused(requiredError(path, "schemas are required"));
  const { schema, errors } = readSchema(json, path);
  // A keyword that could not be read is missing from the schema: validating the rest would report it twice.
  return { schema, errors: errors.length > 0 ? errors : validateStructural(schema, path) };
}

const refused = (error: FieldError): ReadSchema => ({ schema: {}, errors: [error] });

function schemaOf(version: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(version) || !isJsonObject(version["schema"])) return undefined;
  return version["schema"]["openAPIV3Schema"];
}
