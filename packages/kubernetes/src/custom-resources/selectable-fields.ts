// The fields of custom resources that field selectors may name.
// Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceSelectableFields),
// pkg/apiserver/schema/cel/validation.go (ValidFieldPath)

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import {
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";

type SelectableField = { readonly jsonPath: string };

const SELECTABLE_TYPES: readonly (JsonValue | undefined)[] = ["string", "boolean", "integer"];
const WRONG_TYPE =
  "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
const NO_FIELD = "does not refer to a valid field";

/** `schema` as the definition has it. */
export function validateSelectableFields(
  fields: readonly SelectableField[],
  schema: JsonObject,
  path: string,
): readonly FieldError[] {
  const seen = new Set<string>();
  return fields.flatMap(({ jsonPath }, index) => {
    const at = `${indexPath(path, index)}.jsonPath`;
    if (jsonPath === "") return [requiredError(at)];
    const found = fieldAt(jsonPath, schema);
    if ("fault" in found) return [invalidError(at, jsonPath, `is an invalid path: ${found.fault}`)];
    const faults = SELECTABLE_TYPES.includes(found.schema?.["type"]) ? [] : [invalidError(at, jsonPath, WRONG_TYPE)];
    const isTwice = seen.has(jsonPath);
    seen.add(jsonPath);
    return isTwice ? [...faults, duplicateError(at, jsonPath)] : faults;
  });
}

/** Delimiters are tokens of their own; quoted text is one token. */
const TOKENS = /[.[\]]|'(?:[^'\\]|\\.)*'|[^.[\]]+/g;

function fieldAt(
  jsonPath: string,
  root: JsonObject,
): { readonly schema: JsonObject | undefined } | { readonly fault: string } {
  const tokens = jsonPath.match(TOKENS) ?? [];
  let schema: JsonObject | undefined = root;
  for (let at = 0; at < tokens.length; at += 2) {
    const [delimiter = "", name] = tokens.slice(at, at + 2);
    if (delimiter === "[") return { fault: "array notation is not allowed" };
    if (delimiter !== ".") return { fault: `expected [ or . but got: ${delimiter}` };
    if (name === undefined) return { fault: "unexpected end of JSON path" };
    const { properties, additionalProperties }: { readonly [keyword: string]: JsonValue | undefined } = schema ?? {};
    if (isJsonObject(properties)) {
      const member: JsonValue | undefined = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (!isJsonObject(member)) return { fault: NO_FIELD };
      schema = member;
    } else if (additionalProperties === undefined || additionalProperties === false) return { fault: NO_FIELD };
    else schema = isJsonObject(additionalProperties) ? additionalProperties : undefined;
  }
  return { schema };
}
