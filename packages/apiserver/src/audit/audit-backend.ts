// How a handler chain audits requests: policy, sink and redaction.

import type { RequestInfo } from "../request/request-info.ts";
import type { AuditPolicy } from "./audit-policy.ts";
import type { AuditSink } from "./audit-sink.ts";
import type { BodyRedaction } from "./recorded-body.ts";
import { redactSecrets } from "./redact-secrets.ts";

/**
 * Failures are logged and counted in all of them. `batch`: requests never wait. `blocking`: the event is written before the response is
 * sent, which goes out also when that fails. `blocking-strict`: the client gets a 500 instead; where the policy keeps the stage
 * RequestReceived, before anything has happened.
 */
export type AuditMode = "batch" | "blocking" | "blocking-strict";

export type AuditOptions = {
  readonly policy: AuditPolicy;
  readonly sink: AuditSink;
  readonly mode: AuditMode;
  /** Selects the parts of the bodies of a request that are kept; undefined: all. Default: `redactionByDefault`. */
  readonly redaction?: (info: RequestInfo) => BodyRedaction | undefined;
  /** Characters of bodies above which an event is written without them. Default 1 MiB. */
  readonly maxBodyLength?: number;
};

export const DEFAULT_MAX_BODY_LENGTH = 1024 * 1024;

/** The members that are secret, by resource. */
const SECRET_MEMBERS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["secrets", new Set(["data", "stringData"])],
  ["serviceaccounts/token", new Set(["token"])],
  ["tokenreviews", new Set(["token"])],
]);

/** For the resources of Kubernetes itself whose bodies hold credentials. */
export function redactionByDefault({ resource, subresource }: RequestInfo): BodyRedaction | undefined {
  const members =
    SECRET_MEMBERS.get(subresource === "" ? resource : `${resource}/${subresource}`) ?? SECRET_MEMBERS.get(resource);
  return members === undefined ? undefined : (body) => redactSecrets(body, { members });
}
