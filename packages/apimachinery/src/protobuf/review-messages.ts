// The protobuf messages of the review kinds, of requests for tokens, and of the lease that leader election writes.
// Source: k8s.io/api/{authorization,authentication,coordination}/v1/generated.proto

import type { JsonValue } from "../json/json-value.ts";
import {
  bool,
  type MessageType,
  map,
  message,
  messages,
  optionalInteger,
  optionalString,
  string,
  strings,
  textOf,
} from "./message-type.ts";
import { microTime, objectMeta, selectorRequirement } from "./meta-messages.ts";
import { ProtobufError, readFields, type WireField } from "./wire-reader.ts";

/** ExtraValue is a list of strings in JSON, but a message around one in protobuf. */
export function readExtraValue(value: WireField["value"]): JsonValue {
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
