// Data that the stages of one request add to its audit event.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { Status } from "@postern/apimachinery/meta/status";
import type { UserInfo } from "../authentication/user-info.ts";
import type { AuditObjectReference } from "./audit-event.ts";

export type AuditContext = {
  readonly auditId: string;
  /** Whether `setRequestObject` keeps more of an object than its identity. Absent: it does not. */
  readonly keepsBodies?: boolean;
  /** Annotation keys are qualified names, such as `authorization.k8s.io/decision`. A key is set once; later values are ignored. */
  annotate(key: string, value: string): void;
  setUser(user: UserInfo): void;
  /** `constraint`: the verb that allowed it, such as `impersonate:user-info`. Absent: it is not constrained. */
  setImpersonatedUser(user: UserInfo, constraint?: string): void;
  /** Completes what the path alone does not tell, such as a generated name. */
  setObjectRef(ref: AuditObjectReference): void;
  /**
   * The object or patch that was sent. Bodies are kept only when the policy's level asks for them, and without their secrets. A
   * function is called only then; undefined from it keeps nothing. The identity of an object completes the reference of the event.
   */
  setRequestObject(object: JsonValue | (() => JsonValue | undefined)): void;
  /** Details of the response where it is a Status, beside its code. */
  setResponseStatus?(status: Partial<Status>): void;
  /** Called once, after authentication. Rejects if the request must not proceed unrecorded. */
  requestReceived?(): Promise<void> | void;
  /** The handler failed unexpectedly: the request ends in the stage Panic. */
  setPanicked?(): void;
};
