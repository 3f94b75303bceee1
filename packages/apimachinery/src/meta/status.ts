// The Status object of errors and of many successful responses.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go (Status, StatusReason)

import type { ListMeta } from "./object-meta.ts";

export type StatusReason =
  | ""
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Invalid"
  | "ServerTimeout"
  | "Timeout"
  | "TooManyRequests"
  | "BadRequest"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "RequestEntityTooLarge"
  | "UnsupportedMediaType"
  | "InternalError"
  | "Expired"
  | "ServiceUnavailable"
  // Kubernetes has no word for it: a full etcd is an InternalError there.
  | "InsufficientStorage";

export type StatusCause = {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
};

export type StatusDetails = {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
};

export type Status = {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: ListMeta;
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: StatusReason;
  readonly details?: StatusDetails;
  readonly code?: number;
};
