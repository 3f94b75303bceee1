// The request as handlers see it, and the type of handlers.

import { setImmediate as nextTurn } from "node:timers/promises";
import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import type { AuditContext } from "../audit/audit-context.ts";
import type { Credential } from "../authentication/authenticator.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import type { OuterAuthorizer } from "../authorization/authorizer.ts";
import type { LongRunningRequest } from "../authorization/long-running-requests.ts";
import type { WorkParts } from "../limits/long-work.ts";
import type { ResultOf, WorkOf, WorkType } from "../limits/work-threads.ts";
import type { Redact } from "../request/credential-redaction.ts";
import type { InnerRequest, RequestInfo } from "../request/request-info.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import type { ApiResponse } from "../transport/api-response.ts";
import { whenAborted } from "../transport/cancellation.ts";

/** Collects the texts that become `Warning: 299` headers. Duplicates are dropped; the caps of Kubernetes apply. */
export type WarningRecorder = { add(text: string): void; readonly texts: readonly string[] };

export type ContextParts = {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly caller?: UserInfo | undefined;
  readonly credential?: Credential | undefined;
  readonly outerAuthorizer?: OuterAuthorizer | undefined;
  readonly open?: LongRunningRequest | undefined;
  readonly redact?: Redact | undefined;
  readonly isLongRunning?: boolean;
  readonly innerRequest?: InnerRequest | undefined;
  readonly work?: WorkParts | undefined;
  readonly warnings: WarningRecorder;
  readonly audit: AuditContext;
  readonly receivedAt: number;
  readonly outside?: RequestContext["outside"];
  readonly leavePlace?: RequestContext["leavePlace"];
  readonly takeTurn?: RequestContext["takeTurn"];
  readonly ownSignal?: RequestContext["ownSignal"];
};

export type ContextChanges = Partial<Omit<ContextParts, "ownSignal">> & {
  /** In place of the request's. A function is called on demand. */
  readonly signal?: AbortSignal | (() => AbortSignal) | undefined;
};

/**
 * Everything known about a request so far. A class, so that the compiler refuses copies by spread, which would leave its accessors
 * behind: `with` makes them.
 */
export class RequestContext {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  /** Anonymous until authentication. After impersonation, the impersonated user. */
  readonly user: UserInfo;
  /** The authenticated user, regardless of impersonation. */
  readonly caller: UserInfo;
  readonly credential: Credential | undefined;
  /**
   * The authorizer that let a request pass on its way to a surface behind another: asked again, beside the surface's own, where the
   * request turns out to do more than its verb says, such as giving rights away. It knows the caller itself, and what of the surface its
   * credential opens. Absent: the surface was reached directly.
   */
  readonly outerAuthorizer: OuterAuthorizer | undefined;
  /** Collects the decisions that allowed a long-running request, so that they can be repeated. Absent: it does not last. */
  readonly open: LongRunningRequest | undefined;
  /** Takes credentials out of texts that the client sent. Absent: those that are known by their form. */
  readonly redact: Redact | undefined;
  /** Whether it has no deadline and takes no place of those that are worked on. */
  readonly isLongRunning: boolean;
  /** Its request to an API that lies behind this one. Absent: it is answered here. */
  readonly innerRequest: InnerRequest | undefined;
  readonly warnings: WarningRecorder;
  readonly audit: AuditContext;
  /** Milliseconds since the epoch at which the request arrived. */
  readonly receivedAt: number;
  /** Absent: no other request waits for this one. */
  readonly work: WorkParts | undefined;
  /** Waits for others outside of this server: the request gives its place among those that are worked on back meanwhile. Absent: it has none. */
  outside: (<T>(work: () => Promise<T>) => Promise<T>) | undefined;
  /** Others outside of this server do the rest: the request gives its place back for good, and its answer waits for no turn. Absent: it has none. */
  leavePlace: (() => void) | undefined;
  /** A place among those that are worked on, for a part of what a watch begins with. Absent: it may begin with all of it at once. */
  takeTurn: (() => Promise<Disposable>) | undefined;
  /** Absent: the request's. */
  ownSignal: AbortSignal | (() => AbortSignal) | undefined;

  constructor(parts: ContextParts) {
    this.request = parts.request;
    this.info = parts.info;
    this.user = parts.user;
    this.caller = parts.caller ?? parts.user;
    this.credential = parts.credential;
    this.outerAuthorizer = parts.outerAuthorizer;
    this.open = parts.open;
    this.redact = parts.redact;
    this.isLongRunning = parts.isLongRunning ?? false;
    this.innerRequest = parts.innerRequest;
    this.warnings = parts.warnings;
    this.audit = parts.audit;
    this.receivedAt = parts.receivedAt;
    this.work = parts.work;
    this.outside = parts.outside;
    this.leavePlace = parts.leavePlace;
    this.takeTurn = parts.takeTurn;
    this.ownSignal = parts.ownSignal;
  }

  /** Client gone, deadline passed, credential revoked, or server stopping: whichever comes first. */
  get signal(): AbortSignal {
    if (typeof this.ownSignal === "function") this.ownSignal = this.ownSignal();
    return this.ownSignal ?? this.request.signal;
  }

  /** Calls back once with the reason when `signal` is aborted, immediately if it is. Makes no signal where the request needs none. */
  onAbort(listener: (reason: unknown) => void): Disposable {
    const { request, ownSignal } = this;
    if (ownSignal === undefined && request.onAbort !== undefined) return request.onAbort(listener);
    return whenAborted(this.signal, listener);
  }

  /** Reports the size of the object that is being processed, in bytes: for a large one, other requests get their turn in between. */
  weigh(bytes: number): void {
    this.work?.weigh(bytes);
  }

  /** Whether the request has turned out to be large. */
  get isLong(): boolean {
    return this.work?.isLong ?? false;
  }

  /** Before each further walk over what may be a large object. */
  pause(): Promise<void> | undefined {
    return this.work?.pause(this.caller.name);
  }

  /** For work that takes longer than one turn of the event loop may. */
  nextTurn(): Promise<void> {
    return this.work?.nextTurn(this.caller.name) ?? nextTurn();
  }

  /** Reports a part of the response that was left out because it would take too much work. */
  overBudget(): void {
    this.work?.overBudget();
  }

  /** Work that cannot be done in parts, in a thread beside. Undefined where there is none. */
  runInThread<T extends WorkType>(type: T, work: () => WorkOf<T>): Promise<ResultOf<T>> | undefined {
    return this.work?.runInThread(this.caller.name, type, work, this.signal);
  }

  inParts<T>(steps: Steps<T>): Awaitable<T> {
    return this.work === undefined ? runSteps(steps) : this.work.run(this.caller.name, steps);
  }

  /** Members that a chain adds to the context are not copied. */
  with(this: RequestContext, { signal, ...changes }: ContextChanges): RequestContext {
    // Assigned one by one: Object.assign takes several times as long for so many members.
    const copy = new RequestContext(this);
    if (signal !== undefined) copy.ownSignal = signal;
    return Object.assign(copy, changes);
  }
}

/** Answers a request or throws an ApiError, which becomes a Status. At once, where it has to wait for nothing. */
export type Handler = (context: RequestContext) => Awaitable<ApiResponse>;
