// The protobuf messages of the stored built-in kinds: kubectl and typed Go clients send them that way.
// Source: k8s.io/api/{core,rbac,certificates}/v1/generated.proto

import {
  base64,
  base64Map,
  integer,
  type MessageType,
  map,
  message,
  messages,
  optionalBool,
  optionalInteger,
  string,
  stringMap,
  strings,
} from "./message-type.ts";
import { labelSelector, microTime, objectMeta, time } from "./meta-messages.ts";
import { readExtraValue } from "./review-messages.ts";

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
