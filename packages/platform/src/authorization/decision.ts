// Inputs and result of the decision point.

import type { Credential } from "@postern/apiserver/authentication/authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { AuthorizationDecision } from "@postern/apiserver/authorization/authorizer";
import { isMaster } from "@postern/apiserver/authorization/builtin-authorizers";
import type { RbacSource } from "@postern/apiserver/authorization/rbac/rbac-source";
import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import type { PlatformNames } from "../platform-names.ts";
import type { InstanceFacts } from "./instance-facts.ts";
import type { RightCode } from "./owner-rights.ts";
import type { ProjectFacts } from "./project-facts.ts";

/** Everything that decisions are made from. */
export type DecisionDeps = {
  readonly names: PlatformNames;
  readonly keys: Pick<AccessKeyIndex, "byId" | "refusalOf">;
  readonly rbac: RbacSource;
  readonly projects: ProjectFacts;
  readonly instances: InstanceFacts;
};

/** The caller and its credential; no credential for the server's own work and for reviews of other users. */
export type Subject = { readonly user: UserInfo; readonly credential?: Pick<Credential, "id"> | undefined };

/** Machine-readable: why a request is let through, or what stops it. */
export type DecisionCode =
  | "masters"
  | "role"
  | RightCode
  | "filtered-list"
  | "key-refused"
  | "no-right"
  | "out-of-scope"
  | "out-of-rules";

export type PlatformDecision = AuthorizationDecision & {
  readonly code: DecisionCode;
  /** For the audit event; holds no secret. */
  readonly annotations: { readonly [key: string]: string };
};

/** One of the conditions that all must hold. */
export type DecisionStep = {
  readonly step: "key" | "right" | "scope";
  readonly passed: boolean;
  readonly reason: string;
};

export type Explanation = { readonly decision: PlatformDecision; readonly steps: readonly DecisionStep[] };

/** Keys, certificates and impersonation never give system:masters: such requests have a credential. */
export const isServerItself = ({ user, credential }: Subject): boolean => credential === undefined && isMaster(user);

/** The current state of the access key of a request. */
export type KeyStanding =
  | { readonly good: true; readonly key: AccessKeyState | undefined }
  | { readonly good: false; readonly cause: string };

const NO_KEY: KeyStanding = { good: true, key: undefined };

/** Other means than access keys carry a prefix in their handle: `token-file:`, `certificate:`. Handles of keys have no colon. */
const isAccessKeyId = (id: string): boolean => !id.includes(":");

/** Looked up for every decision, so that a revoked key is refused immediately. */
export function keyStanding({ credential }: Subject, keys: DecisionDeps["keys"]): KeyStanding {
  if (credential === undefined || !isAccessKeyId(credential.id)) return NO_KEY;
  const key = keys.byId(credential.id);
  if (key === undefined) return { good: false, cause: "deleted" };
  const cause = keys.refusalOf(key);
  return cause === undefined ? { good: true, key } : { good: false, cause };
}
