// Collects the audit data of one request, and writes its audit events stage by stage.
// Source: k8s.io/apiserver/pkg/audit/{request,evaluator}.go, k8s.io/apiserver/pkg/endpoints/filters/audit.go

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { Status } from "@postern/apimachinery/meta/status";
import { redactCredentials } from "@postern/apimachinery/text/redact-credentials";
import { formatMicroTime } from "@postern/apimachinery/time/timestamp";
import type { UserInfo } from "../authentication/user-info.ts";
import { type Redact, redactedTexts } from "../request/credential-redaction.ts";
import type { InnerRequest, RequestInfo } from "../request/request-info.ts";
import type { Clock } from "../runtime/clock.ts";
import { type ApiRequest, headerOf } from "../transport/api-request.ts";
import { type ApiResponse, RelayedBody } from "../transport/api-response.ts";
import type { AuditContext } from "./audit-context.ts";
import type { AuditEvent, AuditObjectReference, AuditStage, AuditUser } from "./audit-event.ts";
import type { AuditDecision, AuditPolicy } from "./audit-policy.ts";
import { isShort, withBoundedTexts } from "./bounded-texts.ts";
import { isPlain } from "./plain-event.ts";
import { type BodyRedaction, responseDocument, TRUNCATED_ANNOTATION, withoutManagedFields } from "./recorded-body.ts";

export type AuditRecorder = AuditContext & {
  /** The object that the request is about, as far as it is known. */
  readonly objectRef: AuditObjectReference | undefined;
  requestReceived(): Promise<void> | void;
  /** For responses that last: the head is about to be sent. */
  responseStarted(code: number): Promise<void> | void;
  responseComplete(code: number): Promise<void> | void;
  /** The response, for those levels that keep it; before the stage that ends the request. */
  responseSent(response: ApiResponse): void;
};

/** The request that is recorded. */
export type AuditedRequest = {
  readonly request: ApiRequest;
  /** The path's own meaning, by which bodies are kept. */
  readonly info: RequestInfo;
  /** Its request to an API behind this one, as which it is recorded where that can be read. */
  readonly innerRequest?: InnerRequest | undefined;
  /** Takes credentials out of texts that the client sent. Default: those that are known by their form. */
  readonly redact?: Redact | undefined;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
};

export type AuditRecorderDeps = {
  readonly clock: Clock;
  readonly policy: AuditPolicy;
  /** Takes an event; what a failure means is decided there. */
  readonly write: (event: AuditEvent) => Promise<void> | void;
  /** Counts an event that the log leaves out. False, or absent: it is written. */
  readonly countOnly?: ((event: AuditEvent) => boolean) | undefined;
  /** Selects the parts of bodies that are kept, whatever the policy says; undefined: all. */
  readonly redaction: (info: RequestInfo) => BodyRedaction | undefined;
  readonly maxBodyLength: number;
};

const MAX_USER_AGENT = 1024;

/** The members of an event with texts that a client has sent, beside its users. The rest is in the server's own words. */
const WITH_TEXTS = [
  "requestURI",
  "verb",
  "userAgent",
  "objectRef",
  "responseStatus",
  "requestObject",
  "responseObject",
  "annotations",
] as const satisfies readonly (keyof AuditEvent)[];

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export const createAuditRecorder = (auditId: string, audited: AuditedRequest, deps: AuditRecorderDeps): AuditRecorder =>
  new RequestRecorder(auditId, audited, deps);

class RequestRecorder implements AuditRecorder {
  readonly auditId: string;
  readonly #audited: AuditedRequest;
  readonly #info: RequestInfo;
  readonly #deps: AuditRecorderDeps;
  #annotations: { [key: string]: string } | undefined;
  #user: UserInfo | undefined;
  #impersonatedUser: UserInfo | undefined;
  #constraint: string | undefined;
  #objectRef: AuditObjectReference | undefined;
  #requestObject: JsonValue | undefined;
  #responseObject: JsonValue | undefined;
  #responseStatus: Partial<Status> | undefined;
  #decision: AuditDecision | undefined;
  #panicked = false;

  constructor(auditId: string, audited: AuditedRequest, deps: AuditRecorderDeps) {
    this.auditId = auditId;
    this.#audited = audited;
    const { info, innerRequest } = audited;
    this.#info = innerRequest?.info === undefined ? info : { ...innerRequest.info, path: info.path };
    this.#deps = deps;
  }

  /** Keys are names with a slash, which no object has by itself. One without a prototype would be slow to copy and to write. */
  annotate(key: string, value: string): void {
    this.#annotations ??= {};
    this.#annotations[key] ??= value;
  }

  setUser(user: UserInfo): void {
    this.#user = user;
  }

  setImpersonatedUser(user: UserInfo, constraint?: string): void {
    this.#impersonatedUser = user;
    this.#constraint = constraint;
  }

  setObjectRef(ref: AuditObjectReference): void {
    this.#objectRef = { ...(this.#objectRef ?? objectRefOf(this.#info)), ...ref };
  }

  get objectRef(): AuditObjectReference | undefined {
    return this.#objectRef ?? objectRefOf(this.#info);
  }

  get keepsBodies(): boolean {
    const { level } = this.#decide();
    return level === "Request" || level === "RequestResponse";
  }

  setRequestObject(object: JsonValue | (() => JsonValue | undefined)): void {
    if (typeof object !== "function") this.#completeObjectRef(object);
    if (!this.keepsBodies) return;
    this.#requestObject = this.#kept(typeof object === "function" ? object() : object);
  }

  /** Before the last stage is written. */
  responseSent(response: ApiResponse): void {
    const { body } = response;
    if (this.#decide().level !== "RequestResponse" || body.type !== "bytes" || body instanceof RelayedBody) return;
    const { value, isTooLarge } = responseDocument(response, this.#deps.maxBodyLength);
    if (isTooLarge) this.annotate(TRUNCATED_ANNOTATION, "true");
    this.#responseObject = this.#kept(value);
  }

  setResponseStatus({ status, message, reason, details }: Partial<Status>): void {
    this.#responseStatus = {
      ...(status === undefined ? {} : { status }),
      ...(message === undefined ? {} : { message }),
      ...(reason === undefined || reason === "" ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
    };
  }

  setPanicked(): void {
    this.#panicked = true;
    this.#responseStatus = { status: "Failure", message: "APIServer panic'd", reason: "InternalError" };
  }

  requestReceived(): Promise<void> | void {
    return this.#emit("RequestReceived");
  }

  responseStarted(code: number): Promise<void> | void {
    return this.#emit("ResponseStarted", code);
  }

  responseComplete(code: number): Promise<void> | void {
    return this.#emit(this.#panicked ? "Panic" : "ResponseComplete", code);
  }

  /** Only after authentication, whether it succeeded or not. */
  #decide(): AuditDecision {
    const { policy } = this.#deps;
    this.#decision ??= typeof policy === "function" ? policy(this.#user, this.#info) : policy;
    return this.#decision;
  }

  #kept(body: JsonValue | undefined): JsonValue | undefined {
    if (body === undefined) return undefined;
    const redaction = this.#deps.redaction(this.#audited.info);
    const safe = redaction === undefined ? body : redaction(body);
    return safe !== undefined && this.#decide().omitManagedFields === true ? withoutManagedFields(safe) : safe;
  }

  /** Takes members that the path does not give from the object, where it has them. */
  #completeObjectRef(object: JsonValue): void {
    const metadata = isJsonObject(object) ? object["metadata"] : undefined;
    const info = this.#info;
    if (!isJsonObject(metadata) || !info.isResourceRequest) return;
    const said = (name: string): string =>
      typeof metadata[name] === "string" ? redactCredentials(metadata[name]) : "";
    const { name = "", namespace = "" } = this.#objectRef ?? info;
    const ref: Mutable<AuditObjectReference> = {};
    if (name === "" && said("name") !== "") ref.name = said("name");
    if (namespace === "" && said("namespace") !== "") ref.namespace = said("namespace");
    if (said("uid") !== "") ref.uid = said("uid");
    if (said("resourceVersion") !== "") ref.resourceVersion = said("resourceVersion");
    this.setObjectRef(ref);
  }

  #emit(stage: AuditStage, code?: number): Promise<void> | void {
    const { level, omitStages } = this.#decide();
    if (level === "None" || omitStages.includes(stage)) return;
    const { write, countOnly } = this.#deps;
    const event = this.#eventOf(stage, level, code);
    if (countOnly?.(event) === true) return;
    return write(this.#safe(event));
  }

  /** As the client sent it. Every request has one: they are all of one shape, whatever is in them. */
  #eventOf(stage: AuditStage, level: AuditEvent["level"], code: number | undefined): AuditEvent {
    const { request, receivedAt, redact = redactCredentials } = this.#audited;
    const info = this.#info;
    const sent = headerOf(request, "user-agent");
    // A part of a credential would no longer be recognised by its form.
    const userAgent = sent.length <= MAX_USER_AGENT ? sent : redact(sent).slice(0, MAX_USER_AGENT);
    return {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level,
      auditID: this.auditId,
      stage,
      requestURI: request.requestUri,
      verb: info.verb,
      user: this.#user === undefined ? {} : auditUserOf(this.#user),
      impersonatedUser: this.#impersonatedUser && auditUserOf(this.#impersonatedUser),
      authenticationMetadata:
        this.#constraint === undefined ? undefined : { impersonationConstraint: this.#constraint },
      sourceIPs: request.remoteAddress === "" ? undefined : [request.remoteAddress],
      userAgent: userAgent === "" ? undefined : userAgent,
      objectRef: this.#objectRef ?? objectRefOf(info),
      responseStatus: code === undefined ? undefined : responseStatusOf(code, this.#responseStatus),
      requestObject: this.#requestObject,
      responseObject: this.#responseObject,
      requestReceivedTimestamp: formatMicroTime(receivedAt),
      stageTimestamp: formatMicroTime(this.#deps.clock.now()),
      // A copy: sinks may write it out later, when a further stage has added to them.
      annotations: this.#annotations && { ...this.#annotations },
    };
  }

  /** Without credentials, and of bounded length. */
  #safe(event: AuditEvent): AuditEvent {
    const { redact = redactCredentials } = this.#audited;
    if (isPlain(event, redact) && isPlainUser(this.#user, redact) && isPlainUser(this.#impersonatedUser, redact))
      return event;
    // A client puts them anywhere: into names, groups, selectors, and into texts that a refusal repeats.
    const isSafe =
      WITH_TEXTS.every((member) => redactedTexts(event[member], redact) === event[member]) &&
      isSafeUser(this.#user, redact) &&
      isSafeUser(this.#impersonatedUser, redact);
    return withBoundedTexts(isSafe ? event : { ...redactedTexts(event, redact), auditID: this.auditId });
  }
}

/** Most answers say nothing else. */
const responseStatusOf = (code: number, said: Partial<Status> | undefined): Partial<Status> =>
  said === undefined ? { metadata: {}, code } : { metadata: {}, ...said, code };

function objectRefOf(info: RequestInfo): AuditObjectReference | undefined {
  if (!info.isResourceRequest) return undefined;
  const ref: Mutable<AuditObjectReference> = { resource: info.resource };
  if (info.namespace !== "") ref.namespace = info.namespace;
  if (info.name !== "") ref.name = redactCredentials(info.name);
  if (info.apiGroup !== "") ref.apiGroup = info.apiGroup;
  ref.apiVersion = info.apiVersion;
  if (info.subresource !== "") ref.subresource = info.subresource;
  return ref;
}

type KnownUser = { readonly user: AuditUser; readonly isShort: boolean; isSafe: boolean };

/** Authenticators that remember what they know of a user spare us putting it together again, and looking for credentials in a thousand groups. */
const knownUsers = new WeakMap<UserInfo, KnownUser>();

const auditUserOf = (user: UserInfo): AuditUser => knownUserOf(user).user;

function knownUserOf(info: UserInfo): KnownUser {
  const known = knownUsers.get(info);
  if (known !== undefined) return known;
  const user = makeAuditUser(info);
  const made = { user, isShort: isShort(user), isSafe: false };
  knownUsers.set(info, made);
  return made;
}

/** Without credentials in its texts, which stay the same for as long as it is remembered. */
function isSafeUser(user: UserInfo | undefined, redact: Redact): boolean {
  if (user === undefined) return true;
  const known = knownUserOf(user);
  if (!known.isSafe) known.isSafe = redactedTexts(known.user, redact) === known.user;
  return known.isSafe;
}

const isPlainUser = (user: UserInfo | undefined, redact: Redact): boolean =>
  user === undefined || (knownUserOf(user).isShort && isSafeUser(user, redact));

function makeAuditUser({ name, uid, groups, extra }: UserInfo): AuditUser {
  const user: Mutable<AuditUser> = { username: name };
  if (uid !== undefined && uid !== "") user.uid = uid;
  if (groups.length > 0) user.groups = groups;
  if (extra !== undefined && Object.keys(extra).length > 0) user.extra = extra;
  return user;
}
