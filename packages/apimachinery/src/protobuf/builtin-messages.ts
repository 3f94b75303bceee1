// The protobuf messages of the stored built-in kinds: kubectl and typed Go clients send them that way.
// Source: k8s.io/api/{core,rbac,certificates}/v1/generated.proto

import type { JsonValue } from "../json/json-value.ts";
import {
  base64,
  base64Map,
  bool,
  integer,
  type MessageType,
  map,
  message,
  messages,
  optionalBool,
  optionalInteger,
  optionalString,
  string,
  stringMap,
  strings,
  textOf,
} from "./message-type.ts";
import { labelSelector, microTime, objectMeta, selectorRequirement, time } from "./meta-messages.ts";
import { ProtobufError, readFields, type WireField } from "./wire-reader.ts";

const namespace: MessageType = {
  1: message("metadata", objectMeta),
  2: message("spec", { 1: strings("finalizers") }),
  3: message("status", {
    1: string("phase"),
    2: messages("conditions", {
      1: string("type"),
      2: string("status"),
      4: time("lastTransitionTime"),
      5: string("reason"),
      6: string("message"),
    }),
  }),
};

const configMap: MessageType = {
  1: message("metadata", objectMeta),
  2: stringMap("data"),
  3: base64Map("binaryData"),
  4: optionalBool("immutable"),
};

const secret: MessageType = {
  1: message("metadata", objectMeta),
  2: base64Map("data"),
  3: string("type"),
  4: stringMap("stringData"),
  5: optionalBool("immutable"),
};

const objectReference: MessageType = {
  1: string("kind"),
  2: string("namespace"),
  3: string("name"),
  4: string("uid"),
  5: string("apiVersion"),
  6: string("resourceVersion"),
  7: string("fieldPath"),
};

const serviceAccount: MessageType = {
  1: message("metadata", objectMeta),
  2: messages("secrets", objectReference),
  3: messages("imagePullSecrets", { 1: string("name") }),
  4: optionalBool("automountServiceAccountToken"),
};

const event: MessageType = {
  1: message("metadata", objectMeta),
  2: message("involvedObject", objectReference),
  3: string("reason"),
  4: string("message"),
  5: message("source", { 1: string("component"), 2: string("host") }),
  6: time("firstTimestamp"),
  7: time("lastTimestamp"),
  8: integer("count"),
  9: string("type"),
  10: microTime("eventTime"),
  11: message("series", { 1: integer("count"), 2: microTime("lastObservedTime") }),
  12: string("action"),
  13: message("related", objectReference),
  14: string("reportingComponent"),
  15: string("reportingInstance"),
};

/** Of events.k8s.io. */
const newEvent: MessageType = {
  1: message("metadata", objectMeta),
  2: microTime("eventTime"),
  3: message("series", { 1: integer("count"), 2: microTime("lastObservedTime") }),
  4: string("reportingController"),
  5: string("reportingInstance"),
  6: string("action"),
  7: string("reason"),
  8: message("regarding", objectReference),
  9: message("related", objectReference),
  10: string("note"),
  11: string("type"),
  12: message("deprecatedSource", { 1: string("component"), 2: string("host") }),
  13: time("deprecatedFirstTimestamp"),
  14: time("deprecatedLastTimestamp"),
  15: integer("deprecatedCount"),
};

const policyRule: MessageType = {
  1: strings("verbs"),
  2: strings("apiGroups"),
  3: strings("resources"),
  4: strings("resourceNames"),
  5: strings("nonResourceURLs"),
};

const role: MessageType = { 1: message("metadata", objectMeta), 2: messages("rules", policyRule) };

const clusterRole: MessageType = {
  ...role,
  3: message("aggregationRule", { 1: messages("clusterRoleSelectors", labelSelector) }),
};

const roleBinding: MessageType = {
  1: message("metadata", objectMeta),
  2: messages("subjects", { 1: string("kind"), 2: string("apiGroup"), 3: string("name"), 4: string("namespace") }),
  3: message("roleRef", { 1: string("apiGroup"), 2: string("kind"), 3: string("name") }),
};

const certificateSigningRequest: MessageType = {
  1: message("metadata", objectMeta),
  2: message("spec", {
    1: base64("request"),
    2: string("username"),
    3: string("uid"),
    4: strings("groups"),
    5: strings("usages"),
    6: map("extra", readExtraValue, []),
    7: string("signerName"),
    8: optionalInteger("expirationSeconds"),
  }),
  3: message("status", {
    1: messages("conditions", {
      1: string("type"),
      2: string("reason"),
      3: string("message"),
      4: time("lastUpdateTime"),
      5: time("lastTransitionTime"),
      6: string("status"),
    }),
    2: base64("certificate"),
  }),
};

/** By `apiVersion/kind`. */
export const builtinMessages: { readonly [apiVersionAndKind: string]: MessageType } = {
  "v1/Namespace": namespace,
  "v1/ConfigMap": configMap,
  "v1/Secret": secret,
  "v1/ServiceAccount": serviceAccount,
  "v1/Event": event,
  "events.k8s.io/v1/Event": newEvent,
  "rbac.authorization.k8s.io/v1/Role": role,
  "rbac.authorization.k8s.io/v1/ClusterRole": clusterRole,
  "rbac.authorization.k8s.io/v1/RoleBinding": roleBinding,
  "rbac.authorization.k8s.io/v1/ClusterRoleBinding": roleBinding,
  "certificates.k8s.io/v1/CertificateSigningRequest": certificateSigningRequest,
};

// The protobuf messages of the review kinds, of requests for tokens, and of the lease that leader election writes.
// Source: k8s.io/api/{authorization,authentication,coordination}/v1/generated.proto

/** ExtraValue is a list of strings in JSON, but a message around one in protobuf. */
function readExtraValue(value: WireField["value"]): JsonValue {
  if (typeof value === "bigint") throw new ProtobufError("proto: wrong wire type for a field with a length");
  const items: string[] = [];
  for (const field of readFields(value)) if (field.number === 1) items.push(textOf(field.value));
  return items;
}

const selectorAttributes: MessageType = { 1: string("rawSelector"), 2: messages("requirements", selectorRequirement) };

const resourceAttributes: MessageType = {
  1: string("namespace"),
  2: string("verb"),
  3: string("group"),
  4: string("version"),
  5: string("resource"),
  6: string("subresource"),
  7: string("name"),
  8: message("fieldSelector", selectorAttributes),
  9: message("labelSelector", selectorAttributes),
};

const nonResourceAttributes: MessageType = { 1: string("path"), 2: string("verb") };

const subjectAccessReviewStatus: MessageType = {
  1: bool("allowed"),
  2: string("reason"),
  3: string("evaluationError"),
  4: bool("denied"),
};

const selfSubjectAccessReview: MessageType = {
  1: message("metadata", objectMeta),
  2: message("spec", {
    1: message("resourceAttributes", resourceAttributes),
    2: message("nonResourceAttributes", nonResourceAttributes),
  }),
  3: message("status", subjectAccessReviewStatus),
};

const subjectAccessReview: MessageType = {
  1: message("metadata", objectMeta),
  2: message("spec", {
    1: message("resourceAttributes", resourceAttributes),
    2: message("nonResourceAttributes", nonResourceAttributes),
    3: string("user"),
    4: strings("groups"),
    5: map("extra", readExtraValue, []),
    6: string("uid"),
  }),
  3: message("status", subjectAccessReviewStatus),
};

const selfSubjectRulesReview: MessageType = {
  1: message("metadata", objectMeta),
  2: message("spec", { 1: string("namespace") }),
  3: message("status", {
    1: messages("resourceRules", {
      1: strings("verbs"),
      2: strings("apiGroups"),
      3: strings("resources"),
      4: strings("resourceNames"),
    }),
    2: messages("nonResourceRules", { 1: strings("verbs"), 2: strings("nonResourceURLs") }),
    3: bool("incomplete"),
    4: string("evaluationError"),
  }),
};

const userInfo: MessageType = {
  1: string("username"),
  2: string("uid"),
  3: strings("groups"),
  4: map("extra", readExtraValue, []),
};

const tokenReview: MessageType = {
  1: message("metadata", objectMeta),
  2: message("spec", { 1: string("token"), 2: strings("audiences") }),
  3: message("status", {
    1: bool("authenticated"),
    2: message("user", userInfo),
    3: string("error"),
    4: strings("audiences"),
  }),
};

/** The status is the server's, and is not read. */
const tokenRequest: MessageType = {
  1: message("metadata", objectMeta),
  2: message("spec", {
    1: strings("audiences"),
    3: message("boundObjectRef", { 1: string("kind"), 2: string("apiVersion"), 3: string("name"), 4: string("uid") }),
    4: optionalInteger("expirationSeconds"),
  }),
};

const selfSubjectReview: MessageType = {
  1: message("metadata", objectMeta),
  2: message("status", { 1: message("userInfo", userInfo) }),
};

const lease: MessageType = {
  1: message("metadata", objectMeta),
  2: message("spec", {
    1: optionalString("holderIdentity"),
    2: optionalInteger("leaseDurationSeconds"),
    3: microTime("acquireTime"),
    4: microTime("renewTime"),
    5: optionalInteger("leaseTransitions"),
    6: optionalString("strategy"),
    7: optionalString("preferredHolder"),
  }),
};

/** By `apiVersion/kind`. */
export const reviewMessages: { readonly [apiVersionAndKind: string]: MessageType } = {
  "authorization.k8s.io/v1/SelfSubjectAccessReview": selfSubjectAccessReview,
  "authorization.k8s.io/v1/SubjectAccessReview": subjectAccessReview,
  "authorization.k8s.io/v1/LocalSubjectAccessReview": subjectAccessReview,
  "authorization.k8s.io/v1/SelfSubjectRulesReview": selfSubjectRulesReview,
  "authentication.k8s.io/v1/TokenReview": tokenReview,
  "authentication.k8s.io/v1/TokenRequest": tokenRequest,
  "authentication.k8s.io/v1/SelfSubjectReview": selfSubjectReview,
  "coordination.k8s.io/v1/Lease": lease,
};
