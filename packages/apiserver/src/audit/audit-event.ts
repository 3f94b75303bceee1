// One line of the audit log.
// Source: k8s.io/apiserver/pkg/apis/audit/v1/types.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { Status } from "@postern/apimachinery/meta/status";

export type AuditLevel = "None" | "Metadata" | "Request" | "RequestResponse";
export type AuditStage = "RequestReceived" | "ResponseStarted" | "ResponseComplete" | "Panic";

export type AuditUser = {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: { readonly [key: string]: readonly string[] };
};

export type AuditObjectReference = {
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly apiGroup?: string;
  readonly apiVersion?: string;
  readonly resourceVersion?: string;
  readonly subresource?: string;
};

export type AuditEvent = {
  readonly kind: "Event";
  readonly apiVersion: "audit.k8s.io/v1";
  readonly level: AuditLevel;
  readonly auditID: string;
  readonly stage: AuditStage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: AuditUser;
  readonly impersonatedUser?: AuditUser | undefined;
  readonly authenticationMetadata?: { readonly impersonationConstraint: string } | undefined;
  readonly sourceIPs?: readonly string[] | undefined;
  readonly userAgent?: string | undefined;
  readonly objectRef?: AuditObjectReference | undefined;
  readonly responseStatus?: Partial<Status> | undefined;
  readonly requestObject?: JsonValue | undefined;
  readonly responseObject?: JsonValue | undefined;
  /** RFC 3339 with microseconds. */
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: { readonly [key: string]: string } | undefined;
};
