// Warnings about formats that no object is checked for.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go, pkg/registry/customresourcedefinition/strategy.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { CustomResourceDefinition } from "./custom-resource-definition.ts";

const OF_TEXTS = new Set(
  "bsonobjectid uri email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 isbn isbn10 isbn13 creditcard ssn hexcolor rgbcolor byte password date duration datetime k8sshortname k8slongname".split(
    " ",
  ),
);
const OF_NUMBERS: { readonly [type: string]: readonly string[] } = {
  integer: ["int32", "int64"],
  number: ["float", "double"],
};

/** Members of a schema that are a schema, a list of schemas, or schemas by name. */
const PARTS = ["items", "not", "additionalProperties", "allOf", "anyOf", "oneOf"] as const;

/** Texts of warnings, each once. */
export function formatWarnings(
  definition: CustomResourceDefinition,
  old?: CustomResourceDefinition,
): readonly string[] {
  const known = old === undefined ? undefined : unrecognizedFormats(old);
  return [...unrecognizedFormats(definition)]
    .filter((format) => known?.has(format) !== true)
    .map((format) => `unrecognized format ${quoteGo(format)}`);
}

function unrecognizedFormats({ spec }: CustomResourceDefinition): ReadonlySet<string> {
  const found = new Set<string>();
  const left: (JsonValue | undefined)[] = spec.versions.map(({ schema }) => schema?.openAPIV3Schema);
  for (let part = left.pop(); part !== undefined || left.length > 0; part = left.pop()) {
    if (isJsonArray(part)) for (const item of part) left.push(item);
    if (!isJsonObject(part)) continue;
    const { format, properties } = part;
    if (typeof format === "string" && format !== "" && !isRecognized(format, part)) found.add(format);
    if (isJsonObject(properties)) for (const property of Object.values(properties)) left.push(property);
    for (const name of PARTS) left.push(part[name]);
  }
  return found;
}

function isRecognized(format: string, { type = "" }: JsonObject): boolean {
  if (type === "" || type === "string") return OF_TEXTS.has(format.replaceAll("-", ""));
  return typeof type === "string" && Object.hasOwn(OF_NUMBERS, type) && OF_NUMBERS[type]?.includes(format) === true;
}
