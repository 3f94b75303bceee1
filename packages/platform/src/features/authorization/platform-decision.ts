// The port of the decision point: the sources of a decision, and its result.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Credential } from "@postern/apiserver/authentication/authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { AuthorizationDecision, Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import type { RbacSource } from "@postern/apiserver/authorization/rbac/rbac-source";
import type { AccessKeyIndex } from "../access-keys/index/access-key-index.ts";
import type { GrantedAccess } from "./granted-access.ts";
import type { InstancePermissionIndex } from "./members/instance-permissions.ts";
import type { ProjectMembershipIndex } from "./members/project-memberships.ts";
import type { PermissionCode } from "./owner-permissions.ts";
import type { PlatformRequest } from "./request/platform-request.ts";

/** Everything that decisions are made from. */
export type DecisionDeps = {
  readonly names: PlatformNames;
  readonly keys: Pick<AccessKeyIndex, "byId" | "refusalOf">;
  readonly rbac: RbacSource;
  readonly projects: ProjectMembershipIndex;
  readonly instances: InstancePermissionIndex;
  /** Connected clusters that are granted for a time. Absent: none. */
  readonly grantedClusters?: GrantedAccess["clusters"];
  /** How a user may ask for what a request lacks, for people. Absent: users cannot. */
  readonly accessOffers?: AccessOffers;
};

/** The version changes with the offers. */
export type AccessOffers = PolicyVersion & {
  /** Undefined where the user may not ask for it. `allows`: whether a ClusterRole in the project would be enough. */
  offerFor(user: UserInfo, request: PlatformRequest, allows: (projectRole: string) => boolean): string | undefined;
};

/** The caller and its credential; no credential for the server's own work and for reviews of other users. */
export type Subject = { readonly user: UserInfo; readonly credential?: Pick<Credential, "id"> | undefined };

/** Machine-readable: why a request is let through, or what stops it. */
export type DecisionCode =
  | "masters"
  | "role"
  | PermissionCode
  | "filtered-list"
  | "key-refused"
  | "no-right"
  | "out-of-scope"
  | "out-of-rules"
  | "limited-uses";

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

export type PlatformAuthorizer = Authorizer & {
  /** Synchronous: everything it looks at is in memory. */
  authorize(attributes: Parameters<Authorizer["authorize"]>[0]): PlatformDecision;
  /**
   * allowed(key, request) = the key is good ∧ its owner may ∧ its scope opens ∧ each of its rule sets opens.
   * "deny" when the key is what stops the request, "no-opinion" when its owner has no right to it.
   */
  decide(request: PlatformRequest, subject: Subject): PlatformDecision;
  /** The same decision with every condition, also those behind the first that fails. */
  explainDecision(request: PlatformRequest, subject: Subject): Explanation;
  /** Roles, memberships and ownership. Authentication has already checked that the key is valid. */
  readonly policyVersion: PolicyVersion;
};
