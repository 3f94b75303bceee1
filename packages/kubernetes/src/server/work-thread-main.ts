// The entry point of a worker thread: runs one task after another.

import { parentPort } from "node:worker_threads";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  createSchemaValidator,
  SchemaValidationTooLongError,
  type SchemaValidator,
} from "@postern/apimachinery/schema/validation/validate-schema";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { encodeYaml } from "@postern/apimachinery/yaml/encode-yaml";
import { YamlError } from "@postern/apimachinery/yaml/yaml-error";
import type {
  FromThread,
  NumberedSchemaWork,
  ReadYaml,
  ResultOf,
  ToThread,
  WorkType,
} from "@postern/apiserver/limits/work-threads";
import { giveWay } from "@postern/apiserver/runtime/give-way";
import { compileValidationRules, type ValidationRules } from "../custom-resources/validation-rules.ts";

const port = parentPort;
if (port !== null) giveWay();
port?.on("message", (message: ToThread) => {
  let answer: FromThread;
  try {
    answer = { result: resultOf(message) };
  } catch (error) {
    answer = { failure: error instanceof Error ? error.message : String(error) };
  }
  port.postMessage(answer);
});

function resultOf(message: ToThread): ResultOf<WorkType> {
  switch (message.type) {
    case "decodeYaml":
      return readYaml(message.work.text);
    case "encodeYaml":
      return encodeYaml(parseJson(message.work.json));
    case "checkSchema":
      return checkSchema(message.work);
    case "checkRules":
      return checkRules(message.work);
  }
}

function readYaml(text: string): ReadYaml {
  try {
    const { value, duplicates } = decodeYaml(text);
    return { json: stringifyJson(value), duplicates };
  } catch (error) {
    if (error instanceof YamlError) return { fault: error.message };
    throw error;
  }
}

const schemas = new Map<number, { readonly rules: ValidationRules | undefined; readonly validator: SchemaValidator }>();

function schemaOf({ number, schema }: NumberedSchemaWork) {
  if (schema !== undefined) {
    if (number === 0) schemas.clear();
    schemas.set(number, {
      rules: compileValidationRules(schema, "", []),
      validator: createSchemaValidator(schema),
    });
  }
  const known = schemas.get(number);
  if (known === undefined) throw new Error("a schema that is not known");
  return known;
}

/** Texts of objects that the server itself has written. */
const objectsOf = ({ object, old }: NumberedSchemaWork) =>
  [object, old].map((text) => (text === undefined ? undefined : parseJson(text))) as [
    KubeObject,
    KubeObject | undefined,
  ];

/** About a second. Where it is more, the object is refused. */
const MOST_SCHEMA_STEPS = 40_000_000;

function checkSchema(work: NumberedSchemaWork): ResultOf<"checkSchema"> {
  const { validator } = schemaOf(work);
  const [value, before] = objectsOf(work) as readonly JsonValue[];
  if (value === undefined) return [];
  try {
    return before === undefined
      ? validator.validate(value, { most: MOST_SCHEMA_STEPS })
      : validator.validateUpdate(value, before, { most: MOST_SCHEMA_STEPS });
  } catch (error) {
    if (error instanceof SchemaValidationTooLongError) return { tooLongAt: error.field };
    throw error;
  }
}

function checkRules(work: NumberedSchemaWork) {
  const { rules } = schemaOf(work);
  if (rules === undefined) throw new Error("a schema without rules");
  const warnings: string[] = [];
  const [value, before] = objectsOf(work);
  const errors = rules(value, before, (text) => warnings.push(text)) ?? [];
  return { errors, warnings };
}
