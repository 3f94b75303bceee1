// Makes calls of served operations, each with a body in which something is of a type that it should not be.

import { encodeYaml } from "@postern/apimachinery/yaml/encode-yaml";
import type { PlatformCall } from "../../../packages/platform/src/testing/running-platform.ts";
import { minimalObject } from "./minimal-objects.ts";
import { anyPath, anyValue, asPointer, jsonText, oneOf, type Random, withValueAt } from "./random-values.ts";
import type { ServedOperation } from "./served-operations.ts";

/** A body as kubectl has sent it, in protobuf. */
export type RecordedBody = { readonly kind: string; readonly bytes: Buffer };

export type MalformedCall = { readonly operation: ServedOperation; readonly call: PlatformCall };

const PATCHES = [
  "application/merge-patch+json",
  "application/json-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
] as const;

const WHOLE_BODIES = [
  "",
  "null",
  "[]",
  "{}",
  "5",
  '"x"',
  "{",
  "{}{}",
  '{"kind":null}',
  "\ufeff{}",
  "\u0000",
  "[null]",
  "a: [",
  "&a [*a]",
  "- {}",
];
const QUERIES = ["", "", "", "&dryRun=All", "&fieldValidation=Strict", "&fieldValidation=Ignore", "&fieldManager=a"];

export function createMalformedCalls(
  operations: readonly ServedOperation[],
  options: { readonly namespace: string; readonly random: Random; readonly recorded: readonly RecordedBody[] },
): () => MalformedCall {
  const { namespace, random, recorded } = options;
  return () => {
    const operation = oneOf(random, operations);
    const isDefinition = operation.kind === "CustomResourceDefinition";
    const name = random(10) === 0 ? "absent" : isDefinition ? "fuzzes.example.com" : "fuzz";
    const path = operation.path.replace("{namespace}", namespace).replace("{name}", name);
    const alike = recorded.filter(({ kind }) => kind === operation.kind && /^(POST|PUT)$/.test(operation.method));
    const isProtobuf = alike.length > 0 && random(3) === 0;
    const { type, text } = isProtobuf
      ? protobufBody(oneOf(random, alike), random)
      : bodyOf({
          operation,
          name: operation.path.includes("{name}") ? name : "",
          namespace,
          random,
        });
    // Other objects are kept: the caller's own key is among them.
    const only = operation.method === "DELETE" ? "fieldSelector=metadata.name%3Dfuzz" : "";
    // A token is handed out whatever the query says.
    const { subresource } = operation;
    const option = subresource === "token" ? "" : oneOf(random, QUERIES);
    const query = `?${only}${type === PATCHES[3] ? "fieldManager=fuzz&force=true" : ""}${option}`;
    return {
      operation,
      call: { method: operation.method, path: `${path}${query}`, body: text, headers: { "content-type": type } },
    };
  };
}

/** With some bytes changed. */
function protobufBody({ bytes }: RecordedBody, random: Random) {
  const changed = Buffer.from(bytes);
  for (let count = 1 + random(4); count > 0; count--) changed[random(changed.length)] = random(256);
  const text = random(8) === 0 ? changed.subarray(0, random(changed.length)) : changed;
  return { type: "application/vnd.kubernetes.protobuf", text };
}

type Making = {
  readonly operation: ServedOperation;
  readonly name: string;
  readonly namespace: string;
  readonly random: Random;
};

function bodyOf(making: Making): { readonly type: string; readonly text: string } {
  const { operation, name, random } = making;
  if (operation.method === "DELETE") return objectBody(deletion(random), random);
  const type = oneOf(random, PATCHES);
  if (operation.method === "PATCH" && random(30) === 0) return { type, text: oneOf(random, WHOLE_BODIES) };
  if (operation.method === "PATCH") return { type, text: patchText(type, making) };
  const named = name !== "" ? name : random(3) === 0 ? "fuzz" : `f-${random(1_000_000)}`;
  return objectBody(random(30) === 0 ? anyValue(random) : malformed({ ...making, name: named }), random);
}

const soundObject = ({ operation: { apiVersion, kind }, name, namespace }: Making): object =>
  minimalObject(apiVersion, kind, name, namespace);

function malformed(making: Making): unknown {
  const { operation, random } = making;
  let value: unknown = soundObject(making);
  for (let count = 1 + random(2); count > 0; count--) {
    const path = anyPath(random, operation);
    value = withValueAt(value, path, valueAt(path, random));
  }
  return value;
}

/** Texts that occur elsewhere too are no credentials: a search for leaks would find them there. */
const CREDENTIALS: readonly unknown[] = ["token", "key", "accessKey", "password"];

function valueAt(path: readonly (string | number)[], random: Random): unknown {
  const value = anyValue(random);
  return CREDENTIALS.includes(path.at(-1)) && typeof value === "string" ? "x" : value;
}

const DELETE_OPTIONS = [
  "gracePeriodSeconds",
  "preconditions",
  "orphanDependents",
  "propagationPolicy",
  "dryRun",
  "kind",
];

const deletion = (random: Random): unknown =>
  random(10) === 0
    ? anyValue(random)
    : { kind: "DeleteOptions", apiVersion: "v1", [oneOf(random, DELETE_OPTIONS)]: anyValue(random) };

function objectBody(value: unknown, random: Random) {
  if (random(40) === 0) return { type: "application/json", text: oneOf(random, WHOLE_BODIES) };
  const text = jsonText(value);
  if (random(4) !== 0) return { type: "application/json", text };
  // JSON is YAML as well; what YAML alone has comes from the encoder.
  return { type: "application/yaml", text: random(2) === 0 ? text : encodeYaml(JSON.parse(JSON.stringify(value))) };
}

function patchText(type: string, making: Making): string {
  const { operation, random } = making;
  const path = anyPath(random, operation);
  if (type === "application/apply-patch+yaml") return jsonText(malformed(making));
  if (type !== "application/json-patch+json") return jsonText(withValueAt({}, path, valueAt(path, random)));
  const value = withValueAt(soundObject(making), path, valueAt(path, random));
  const at = path.slice(0, 1 + random(path.length));
  const part = at.reduce<any>((inside, step) => inside?.[step], value);
  return jsonText([
    { op: oneOf(random, ["add", "replace", "test", "remove"]), path: asPointer(at), value: part ?? null },
    ...(random(10) === 0 ? [anyValue(random)] : []),
  ]);
}
