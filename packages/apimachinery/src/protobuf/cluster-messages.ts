// Makes message types of the tables of `cluster-message-tables.ts`, each when a body of its kind first comes.

import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { parseJson } from "../json/parse-json.ts";
import { CLUSTER_MESSAGES } from "./cluster-message-tables.ts";
import {
  base64,
  bool,
  converted,
  decodeMessage,
  type FieldType,
  integer,
  type MessageType,
  map,
  message,
  messages,
  optionalBool,
  optionalInteger,
  optionalString,
  string,
  strings,
  textOf,
} from "./message-type.ts";
import { labelSelector, microTime, objectMeta, time } from "./meta-messages.ts";
import { ProtobufError, readFields, type WireField } from "./wire-reader.ts";

/** The message of a kind, by `apiVersion/kind`. */
const CLUSTER_KINDS: { readonly [apiVersionAndKind: string]: string } = {
  "v1/Service": "Service",
  "v1/Endpoints": "Endpoints",
  "v1/ResourceQuota": "ResourceQuota",
  "v1/LimitRange": "LimitRange",
  "v1/Pod": "Pod",
  "v1/PodTemplate": "PodTemplate",
  "v1/ReplicationController": "ReplicationController",
  "v1/PersistentVolumeClaim": "PersistentVolumeClaim",
  "v1/PersistentVolume": "PersistentVolume",
  "apps/v1/Deployment": "Deployment",
  "apps/v1/ReplicaSet": "ReplicaSet",
  "apps/v1/StatefulSet": "StatefulSet",
  "apps/v1/DaemonSet": "DaemonSet",
  "apps/v1/ControllerRevision": "ControllerRevision",
  "batch/v1/Job": "Job",
  "batch/v1/CronJob": "CronJob",
  "networking.k8s.io/v1/Ingress": "Ingress",
  "networking.k8s.io/v1/IngressClass": "IngressClass",
  "networking.k8s.io/v1/NetworkPolicy": "NetworkPolicy",
  "policy/v1/PodDisruptionBudget": "PodDisruptionBudget",
  "scheduling.k8s.io/v1/PriorityClass": "PriorityClass",
  "storage.k8s.io/v1/StorageClass": "StorageClass",
  "storage.k8s.io/v1/CSIDriver": "CSIDriver",
  "node.k8s.io/v1/RuntimeClass": "RuntimeClass",
  "apiregistration.k8s.io/v1/APIService": "APIService",
  "discovery.k8s.io/v1/EndpointSlice": "EndpointSlice",
  "autoscaling/v1/HorizontalPodAutoscaler": "HorizontalPodAutoscalerV1",
  "autoscaling/v2/HorizontalPodAutoscaler": "HorizontalPodAutoscaler",
  "coordination.k8s.io/v1/Lease": "Lease",
  "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy": "ValidatingAdmissionPolicy",
  "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding": "ValidatingAdmissionPolicyBinding",
  "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration": "ValidatingWebhookConfiguration",
  "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration": "MutatingWebhookConfiguration",
  "apiextensions.k8s.io/v1/CustomResourceDefinition": "CustomResourceDefinition",
};

const types = new Map<string, MessageType>();

/** Undefined for other kinds. */
export function clusterMessage(apiVersionAndKind: string): MessageType | undefined {
  const name = Object.hasOwn(CLUSTER_KINDS, apiVersionAndKind) ? CLUSTER_KINDS[apiVersionAndKind] : undefined;
  return name === undefined ? undefined : typeNamed(name);
}

function typeNamed(name: string): MessageType {
  const known = types.get(name);
  if (known !== undefined) return known;
  const made: { [fieldNumber: number]: FieldType } = {};
  // Known before it is filled: some messages hold others of their own type.
  types.set(name, made);
  for (const field of (CLUSTER_MESSAGES[name] ?? "").split(" ")) {
    const [number = "", member = "", type = ""] = field.split(":");
    if (number === "") continue;
    made[Number(number)] = member === "" ? inline(typeNamed(type)) : fieldOf(member, type);
  }
  return made;
}

/** Its members are those of the message around it: `decodeMessage` spreads what has this name. */
const inline = (type: MessageType): FieldType => ({ ...message(INLINE, type) });
const INLINE = "";

const CONDITION: MessageType = {
  1: string("type"),
  2: string("status"),
  3: integer("observedGeneration"),
  4: time("lastTransitionTime"),
  5: string("reason"),
  6: string("message"),
};

const SCALARS: { readonly [type: string]: (name: string) => FieldType } = {
  s: string,
  "s?": optionalString,
  i: integer,
  "i?": optionalInteger,
  b: bool,
  "b?": optionalBool,
  bytes: base64,
  meta: (name) => message(name, objectMeta),
  selector: (name) => message(name, labelSelector),
  time,
  microtime: microTime,
  condition: (name) => message(name, CONDITION),
  quantity: (name) => converted(name, quantityOf),
  intOrString: (name) => converted(name, intOrStringOf),
  raw: (name) => converted(name, rawOf),
  "d?": (name) => ({ name, read: doubleOf }),
  schema: (name) => converted(name, schemaOf),
  schemaOrBool: (name) => converted(name, schemaOrBool),
  schemaOrList: (name) => converted(name, schemaOrList),
  schemaOrTexts: (name) => converted(name, schemaOrTexts),
};

function fieldOf(name: string, type: string): FieldType {
  if (type === "[]s") return strings(name);
  if (type === "[]i") return list(name, integer(name));
  if (type === "[]bytes") return list(name, base64(name));
  if (type.startsWith("[]")) {
    const scalar = SCALARS[type.slice(2)];
    return scalar === undefined ? messages(name, typeNamed(type.slice(2))) : list(name, scalar(name));
  }
  if (type === "{}s") return map(name, textOf, "");
  if (type === "{}bytes") return map(name, (value) => base64("").read(value, undefined) ?? "", "");
  if (type.startsWith("{}")) {
    const of = SCALARS[type.slice(2)]?.("") ?? message("", typeNamed(type.slice(2)));
    return map(name, (value) => of.read(value, undefined) ?? null, null);
  }
  return SCALARS[type]?.(name) ?? message(name, typeNamed(type));
}

/** The bits of a double are on the wire. */
function doubleOf(value: WireField["value"]): number {
  if (typeof value !== "bigint") throw new ProtobufError("proto: wrong wire type for a double");
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, value);
  const number = view.getFloat64(0);
  if (!Number.isFinite(number)) throw new ProtobufError("proto: a number is not finite");
  return number;
}

/** Levels of schemas in schemas: those of a definition may have 200, and far deeper ones would exhaust the stack. */
const MAX_SCHEMA_DEPTH = 300;

const depth = { ofSchemas: 0 };

/** A schema of a CustomResourceDefinition. */
function schemaOf(bytes: Uint8Array): JsonObject {
  if (depth.ofSchemas >= MAX_SCHEMA_DEPTH) throw new ProtobufError("proto: schemas nest too deeply");
  depth.ofSchemas++;
  try {
    return decodeMessage(typeNamed("JSONSchemaProps"), bytes);
  } finally {
    depth.ofSchemas--;
  }
}

const schemaOrBool = (bytes: Uint8Array): JsonValue => {
  const { allows = false, schema } = decodeMessage(typeNamed("JSONSchemaPropsOrBool"), bytes);
  return schema ?? allows;
};

const schemaOrList = (bytes: Uint8Array): JsonValue => {
  const { schema, list: schemas = [] } = decodeMessage(typeNamed("JSONSchemaPropsOrArray"), bytes);
  return schema ?? schemas;
};

const schemaOrTexts = (bytes: Uint8Array): JsonValue => {
  const { schema, property = [] } = decodeMessage(typeNamed("JSONSchemaPropsOrStringArray"), bytes);
  return schema ?? property;
};

/** An item that would be left out as a member still counts in a list. */
function list(name: string, item: FieldType): FieldType {
  return {
    name,
    read(value, previous) {
      const items = Array.isArray(previous) ? (previous as JsonValue[]) : [];
      const read = item.read(value, undefined);
      // Not `??`: null is a value of an enum.
      items.push(read !== undefined ? read : typeof value === "bigint" ? Number(value) : {});
      return items;
    },
  };
}

function quantityOf(bytes: Uint8Array): JsonValue {
  const { text = "0" } = decodeMessage({ 1: string("text") }, bytes);
  return text;
}

function intOrStringOf(bytes: Uint8Array): JsonValue {
  const {
    type = 0,
    number = 0,
    text = "",
  } = decodeMessage({ 1: integer("type"), 2: integer("number"), 3: string("text") }, bytes);
  return type === 1 ? text : number;
}

/** The JSON of an object of any kind. */
function rawOf(bytes: Uint8Array): JsonValue | undefined {
  for (const { number, value } of readFields(bytes)) {
    if (number !== 1 || typeof value === "bigint" || value.length === 0) continue;
    try {
      return parseJson(value);
    } catch (cause) {
      throw new ProtobufError("proto: a raw object is not JSON", { cause });
    }
  }
  return undefined;
}
