// The body of an answer with one document, in the encoding the client asked for.

import { encodeProtobufObject } from "@postern/apimachinery/protobuf/protobuf-object";
import { encodeYaml } from "@postern/apimachinery/yaml/encode-yaml";
import type { ConversionContext } from "./convert-object.ts";
import type { OutputMedia } from "./negotiate-output.ts";
import { decodeValue, encodeKept, isKept, jsonTextOf, type KeptObject, type ObjectValue } from "./object-value.ts";
import { indentJson } from "./pretty.ts";

/** The YAML of a large object. Undefined where no thread is there to write it. */
export const yamlInThread = (context: ConversionContext, value: KeptObject): Promise<string> | undefined =>
  context.runInThread?.("encodeYaml", () => ({ json: jsonTextOf(value) }));

/** Compact JSON and YAML end with a newline, pretty JSON does not, as upstream has it. */
export function encodeObject(value: ObjectValue, { format, pretty }: OutputMedia): Uint8Array | string {
  if (format === "yaml") return encodeYaml(decodeValue(value));
  if (format === "protobuf") return encodeProtobufObject(decodeValue(value));
  if (pretty) return indentJson(jsonTextOf(value));
  // All the work there is in answering with a kept object.
  return isKept(value) ? encodeKept(value, "", "\n") : `${jsonTextOf(value)}\n`;
}
