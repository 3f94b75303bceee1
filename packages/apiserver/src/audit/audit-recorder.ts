// Gathers what is known about one request and writes its audit events, stage by stage.
// Source: k8s.io/apiserver/pkg/audit/{request,evaluator}.go, k8s.io/apiserver/pkg/endpoints/filters/audit.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { Status } from "@postern/apimachinery/meta/status";
import { formatMicroTime } from "@postern/apimachinery/time/timestamp";
import type { UserInfo } from "../authentication/user-info.ts";
import type { RequestInfo } from "../request/request-info.ts";
import { safeRequestUri } from "../request/safe-request-uri.ts";
import type { Clock } from "../runtime/clock.ts";
import { type ApiRequest, headerOf } from "../transport/api-request.ts";
import type { AuditContext } from "./audit-context.ts";
import type { AuditEvent, AuditObjectReference, AuditStage, AuditUser } from "./audit-event.ts";
import type { AuditDecision, AuditPolicy } from "./audit-policy.ts";

export type AuditRecorder = AuditContext & {
  requestReceived(): Promise<void> | void;
  /** For responses that last: the head is about to be sent. */
  responseStarted(code: number): Promise<void> | void;
  responseComplete(code: number): Promise<void> | void;
};

export type AuditRecorderOptions = {
  readonly auditId: string;
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly receivedAt: number;
  readonly clock: Clock;
  readonly policy: AuditPolicy;
  /** Takes an event; what a failure means is decided there. */
  readonly write: (event: AuditEvent) => Promise<void> | void;
  /** Requests whose bodies are never kept, whatever the policy says. */
  readonly bearsSecrets: (info: RequestInfo) => boolean;
};

const MAX_USER_AGENT = 1024;

export function createAuditRecorder(options: AuditRecorderOptions): AuditRecorder {
  const { auditId, info } = options;
  const annotations = new Map<string, string>();
  let user: UserInfo | undefined;
  let impersonatedUser: UserInfo | undefined;
  let objectRef = objectRefOf(info);
  let requestObject: JsonValue | undefined;
  let responseObject: JsonValue | undefined;
  let responseStatus: Partial<Status> | undefined;
  let decision: AuditDecision | undefined;
  let panicked = false;

  const decide = (): AuditDecision => {
    // Only once it is known who asks, or that nobody does.
    decision ??= options.policy(user, info);
    return decision;
  };
  const keepsBodies = (level: "Request" | "RequestResponse"): boolean => {
    const kept = decide().level;
    return (kept === "RequestResponse" || kept === level) && !options.bearsSecrets(info);
  };
  const emit = (stage: AuditStage, code?: number): Promise<void> | void => {
    const { level, omitStages } = decide();
    if (level === "None" || omitStages.includes(stage)) return;
    const { request, receivedAt, clock } = options;
    const userAgent = headerOf(request, "user-agent").slice(0, MAX_USER_AGENT);
    const status = code === undefined ? undefined : { metadata: {}, ...responseStatus, code };
    return options.write({
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level,
      auditID: auditId,
      stage,
      requestURI: safeRequestUri(request.requestUri),
      verb: info.verb,
      user: user === undefined ? {} : auditUserOf(user),
      ...(impersonatedUser === undefined ? {} : { impersonatedUser: auditUserOf(impersonatedUser) }),
      ...(request.remoteAddress === "" ? {} : { sourceIPs: [request.remoteAddress] }),
      ...(userAgent === "" ? {} : { userAgent }),
      ...(objectRef === undefined ? {} : { objectRef }),
      ...(status === undefined ? {} : { responseStatus: status }),
      ...(requestObject === undefined ? {} : { requestObject }),
      ...(responseObject === undefined ? {} : { responseObject }),
      requestReceivedTimestamp: formatMicroTime(receivedAt),
      stageTimestamp: formatMicroTime(clock.now()),
      ...(annotations.size === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
    });
  };

  return {
    auditId,
    annotate(key, value) {
      if (!annotations.has(key)) annotations.set(key, value);
    },
    setUser(value) {
      user = value;
    },
    setImpersonatedUser(value) {
      impersonatedUser = value;
    },
    setObjectRef(ref) {
      objectRef = { ...objectRef, ...ref };
    },
    setRequestObject(object) {
      if (keepsBodies("Request")) requestObject = object;
    },
    setResponseObject(object) {
      if (keepsBodies("RequestResponse")) responseObject = object;
    },
    setResponseStatus({ status, message, reason, details }) {
      responseStatus = {
        ...(status === undefined ? {} : { status }),
        ...(message === undefined ? {} : { message }),
        ...(reason === undefined || reason === "" ? {} : { reason }),
        ...(details === undefined ? {} : { details }),
      };
    },
    requestReceived: () => emit("RequestReceived"),
    responseStarted: (code) => emit("ResponseStarted", code),
    responseComplete: (code) => emit(panicked ? "Panic" : "ResponseComplete", code),
    setPanicked() {
      panicked = true;
    },
  };
}

function objectRefOf(info: RequestInfo): AuditObjectReference | undefined {
  if (!info.isResourceRequest) return undefined;
  return {
    resource: info.resource,
    ...(info.namespace === "" ? {} : { namespace: info.namespace }),
    ...(info.name === "" ? {} : { name: info.name }),
    ...(info.apiGroup === "" ? {} : { apiGroup: info.apiGroup }),
    apiVersion: info.apiVersion,
    ...(info.subresource === "" ? {} : { subresource: info.subresource }),
  };
}

const auditUserOf = ({ name, uid, groups, extra }: UserInfo): AuditUser => ({
  username: name,
  ...(uid === undefined || uid === "" ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups }),
  ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
});
