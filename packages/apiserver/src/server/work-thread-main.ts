// A thread for long work: does one thing after the other, as it is given them.

import { parentPort } from "node:worker_threads";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { encodeYaml } from "@postern/apimachinery/yaml/encode-yaml";
import { YamlError } from "@postern/apimachinery/yaml/yaml-error";
import { compileValidationRules, type ValidationRules } from "../custom-resources/validation-rules.ts";
import type { FromThread, ReadYaml, ResultOf, ToThread, WorkType } from "../limits/work-threads.ts";

const port = parentPort;
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
    default:
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

const rulesByNumber = new Map<number, ValidationRules>();

function checkRules({ number, schema, object, old }: (ToThread & { readonly type: "checkRules" })["work"]) {
  if (schema !== undefined) {
    if (number === 0) rulesByNumber.clear();
    const compiled = compileValidationRules(schema, "", []);
    if (compiled !== undefined) rulesByNumber.set(number, compiled);
  }
  const rules = rulesByNumber.get(number);
  if (rules === undefined) throw new Error("a schema without rules");
  const warnings: string[] = [];
  // Texts of objects that the server itself has written.
  const [value, before] = [object, old].map((text) => (text === undefined ? undefined : parseJson(text))) as [
    KubeObject,
    KubeObject | undefined,
  ];
  const errors = rules(value, before, (text) => warnings.push(text)) ?? [];
  return { errors, warnings };
}
