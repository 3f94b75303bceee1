// Turns a composed YAML document into JSON: scalars by YAML 1.1, keys as strings, merges and aliases resolved.
// Source: sigs.k8s.io/yaml/goyaml.v2/decode.go, sigs.k8s.io/yaml/yaml.go (convertToJSONableObject)

import { isAlias, isMap, isScalar, isSeq, type ParsedNode, type Scalar, type YAMLMap, type YAMLSeq } from "yaml";
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonPrimitive,
  type JsonValue,
  type MutableJsonObject,
  setMember,
} from "../json/json-value.ts";
import { quoteGo } from "../text/go-quote.ts";
import { formatGoValue } from "../validation/go-syntax.ts";
import { MERGE_KEY, resolveYamlScalar } from "./resolve-yaml-scalar.ts";
import { YamlError } from "./yaml-error.ts";

export type ConversionOptions = {
  readonly maxDepth: number;
  readonly maxAliasedSize: number;
  readonly lineOf: (offset: number) => number;
  readonly onDuplicate: (line: number, key: string) => void;
};

type Anchored = { readonly value: JsonValue; readonly size: number; readonly height: number };

type Conversion = ConversionOptions & {
  /** Values by anchor; undefined while the anchored node is still being read. */
  readonly anchors: Map<string, Anchored | undefined>;
  /** Nodes and characters so far, aliases counted in full. */
  size: number;
  aliasedSize: number;
  /** The deepest level reached since it was last reset. */
  deepest: number;
};

const TAG = "tag:yaml.org,2002:";

type YamlNode = ParsedNode | null | undefined;

/** @throws YamlError */
export function yamlNodeToJson(node: YamlNode, options: ConversionOptions): JsonValue {
  return convert(node, 0, { ...options, anchors: new Map(), size: 0, aliasedSize: 0, deepest: 0 });
}

function convert(node: YamlNode, depth: number, conversion: Conversion): JsonValue {
  if (node === null || node === undefined) return null;
  if (isAlias(node)) return convertAlias(node.source, depth, conversion);
  if (node.anchor === undefined) return convertNode(node, depth, conversion);
  const { size, deepest } = conversion;
  conversion.anchors.set(node.anchor, undefined);
  conversion.deepest = depth;
  const value = convertNode(node, depth, conversion);
  conversion.anchors.set(node.anchor, { value, size: conversion.size - size, height: conversion.deepest - depth });
  conversion.deepest = Math.max(deepest, conversion.deepest);
  return value;
}

function convertNode(node: ParsedNode, depth: number, conversion: Conversion): JsonValue {
  conversion.size++;
  if (isScalar(node)) return convertScalar(node, conversion);
  reach(depth + 1, conversion);
  if (isMap(node)) return convertMap(node, depth + 1, conversion);
  if (isSeq(node)) return convertSeq(node, depth + 1, conversion);
  throw new YamlError("yaml: unknown node");
}

function reach(depth: number, conversion: Conversion): void {
  if (depth > conversion.maxDepth) throw new YamlError("yaml: exceeded max depth");
  conversion.deepest = Math.max(conversion.deepest, depth);
}

/** The anchored value itself, not a copy: an alias costs nothing here, but what it adds to the output is counted. */
function convertAlias(anchor: string, depth: number, conversion: Conversion): JsonValue {
  const anchored = conversion.anchors.get(anchor);
  if (anchored === undefined) {
    const known = conversion.anchors.has(anchor);
    throw new YamlError(
      known ? `yaml: anchor '${anchor}' value contains itself` : `yaml: unknown anchor '${anchor}' referenced`,
    );
  }
  conversion.size += anchored.size;
  conversion.aliasedSize += anchored.size;
  if (conversion.aliasedSize > conversion.maxAliasedSize) {
    throw new YamlError("yaml: document contains excessive aliasing");
  }
  reach(depth + anchored.height, conversion);
  return anchored.value;
}

function convertSeq(node: YAMLSeq, depth: number, conversion: Conversion): JsonValue {
  // A parsed document holds parsed nodes only.
  return node.items.map((item) => convert(item as YamlNode, depth, conversion));
}

function convertMap(node: YAMLMap, depth: number, conversion: Conversion): JsonValue {
  const object: MutableJsonObject = {};
  const seen = new Set<JsonPrimitive>();
  const merged: JsonObject[] = [];
  for (const pair of node.items) {
    // A parsed document holds parsed nodes only.
    const keyNode = pair.key as YamlNode;
    const valueNode = pair.value as YamlNode;
    const value = convert(valueNode, depth, conversion);
    if (isMergeKey(keyNode)) {
      merged.push(...mappingsToMerge(value));
      continue;
    }
    const key = convert(keyNode, depth, conversion);
    if (key === null) throw new YamlError("yaml: unsupported map key of type null");
    if (isJsonArray(key) || isJsonObject(key)) {
      throw new YamlError(`yaml: invalid map key: ${formatGoValue(key, "map[interface {}]interface {}")}`);
    }
    if (seen.has(key)) {
      const offset = valueNode?.range[0] ?? keyNode?.range[0] ?? 0;
      conversion.onDuplicate(conversion.lineOf(offset), typeof key === "string" ? quoteGo(key) : String(key));
    }
    seen.add(key);
    setMember(object, String(key), value);
  }
  // The mapping's own members win over merged ones, and the first merged mapping over later ones.
  for (const mapping of merged) {
    for (const [name, value] of Object.entries(mapping)) {
      if (!Object.hasOwn(object, name)) setMember(object, name, value);
    }
  }
  return object;
}

const isMergeKey = (node: YamlNode): boolean =>
  isScalar(node) &&
  ((node.type === "PLAIN" && node.tag === undefined && node.value === MERGE_KEY) || node.tag === `${TAG}merge`);

function mappingsToMerge(value: JsonValue): readonly JsonObject[] {
  const candidates = isJsonArray(value) ? value : [value];
  return candidates.map((candidate) => {
    if (isJsonObject(candidate)) return candidate;
    throw new YamlError("yaml: map merge requires map or sequence of maps as the value");
  });
}

function convertScalar(node: Scalar, conversion: Conversion): JsonPrimitive {
  const text = String(node.value);
  conversion.size += text.length;
  const plain = node.type === "PLAIN" && node.tag === undefined;
  const value = plain ? resolveYamlScalar(text) : resolveTagged(text, node.tag);
  if (value === undefined) throw new YamlError(`yaml: cannot decode ${quoteGo(text)} as a ${node.tag}`);
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new YamlError(`yaml: json: unsupported value: ${goFloat(value)}`);
  }
  return value;
}

const goFloat = (value: number): string => (Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");

/** A scalar that is quoted or has a tag; undefined when it is not what its tag says. */
function resolveTagged(text: string, tag: string | undefined): JsonPrimitive | undefined {
  const value = resolveYamlScalar(text);
  switch (tag) {
    case `${TAG}bool`:
      return typeof value === "boolean" ? value : undefined;
    case `${TAG}null`:
      return value === null ? value : undefined;
    case `${TAG}int`:
      return typeof value === "bigint" || Number.isInteger(value) ? value : undefined;
    case `${TAG}float`:
      return typeof value === "bigint" || typeof value === "number" ? Number(value) : undefined;
    case `${TAG}binary`:
      return decodeBase64(text);
    default:
      return text;
  }
}

function decodeBase64(text: string): string | undefined {
  const base64 = text.replace(/\s/g, "");
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return undefined;
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));
}
