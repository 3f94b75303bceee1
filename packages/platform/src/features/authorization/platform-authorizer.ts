// The one decision point: authorizes every request, from any API surface.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Credential } from "@postern/apiserver/authentication/authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { AuthorizationDecision, Authorizer } from "@postern/apiserver/authorization/authorizer";
import { isMaster } from "@postern/apiserver/authorization/builtin-authorizers";
import { combinedPolicyVersion, type PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import { createRbacAuthorizer } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import type { RbacSource } from "@postern/apiserver/authorization/rbac/rbac-source";
import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import { isAuthenticated } from "./caller.ts";
import { isFilteredList } from "./filtered-resources.ts";
import type { InstancePermissionIndex } from "./instance-permissions.ts";
import { ownerPermission, type PermissionCode } from "./owner-permissions.ts";
import { managementRequest, type PlatformRequest, type TargetedRequest } from "./platform-request.ts";
import type { ProjectMembershipIndex } from "./project-memberships.ts";
import { RestrictionIndex } from "./restriction-index.ts";
import { inScope, type ScopeVerdict } from "./scope.ts";

/** Everything that decisions are made from. */
export type DecisionDeps = {
  readonly names: PlatformNames;
  readonly keys: Pick<AccessKeyIndex, "byId" | "refusalOf">;
  readonly rbac: RbacSource;
  readonly projects: ProjectMembershipIndex;
  readonly instances: InstancePermissionIndex;
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

export type PlatformAuthorizer = Authorizer & {
  /** Synchronous: everything it looks at is in memory. */
  authorize(attributes: Parameters<Authorizer["authorize"]>[0]): PlatformDecision;
  /**
   * allowed(key, request) = the key is good ∧ its owner may ∧ its scope opens ∧ each of its rule sets opens.
   * "deny" when the key is what stops the request, "no-opinion" when its owner has no right to it.
   */
  decide(request: PlatformRequest, subject: Subject): PlatformDecision;
  /** The same decision with every condition judged, also those behind the first that fails. */
  explainDecision(request: PlatformRequest, subject: Subject): Explanation;
  /** Roles, memberships and ownership. Authentication has already checked that the key is valid. */
  readonly policyVersion: PolicyVersion;
};

const MASTERS: PlatformDecision = { verdict: "allow", code: "masters", reason: "", annotations: {} };

const REFUSALS = {
  "key-refused": "the access key is no longer accepted",
  "out-of-scope": "the scope of the access key does not allow this request",
  "out-of-rules": "the rules of the access key do not allow this request",
} as const;

export function createPlatformAuthorizer(sources: DecisionDeps): PlatformAuthorizer {
  const { names, keys, rbac, projects, instances } = sources;
  const userPermissions = createUserPermissions(sources);
  const { policyVersion } = userPermissions;
  const memo = new DecisionMemo();
  const index = new RestrictionIndex();
  const rightAnnotation = names.key("authorization-right");
  const scopeAnnotation = names.key("authorization-scope");
  const keyAnnotation = names.key("authorization-key");

  const judge = (right: UserRight, scope: ScopeVerdict): PlatformDecision => {
    const annotations = {
      [rightAnnotation]: right.allowed ? right.code : "none",
      [scopeAnnotation]: scope.reason,
    };
    if (!right.allowed) return { verdict: "no-opinion", code: "no-right", reason: right.reason, annotations };
    if (scope.open) return { verdict: "allow", code: right.code, reason: right.reason, annotations };
    const code = scope.reason === "out-of-rules" ? "out-of-rules" : "out-of-scope";
    return { verdict: "deny", code, reason: REFUSALS[code], annotations };
  };

  const scopeOf = (
    request: PlatformRequest,
    { user, credential }: Subject,
    key: AccessKeyState | undefined,
  ): ScopeVerdict =>
    inScope(key?.restrictions, request, {
      names,
      user,
      owner: key?.owner ?? NOBODY,
      isProvisioning: isProvisioning(credential),
      index,
    });

  const refuseKey = (cause: string): PlatformDecision => ({
    verdict: "deny",
    code: "key-refused",
    reason: REFUSALS["key-refused"],
    annotations: { [keyAnnotation]: cause },
  });

  const decide = (request: PlatformRequest, subject: Subject): PlatformDecision => {
    const standing = keyStanding(subject, keys);
    if (!standing.good) return refuseKey(standing.cause);
    if (isServerItself(subject)) return MASTERS;
    const { key } = standing;
    // Each only goes up, so that the sum is the same only when every part is.
    const version = rbac.version + projects.version + instances.version;
    const judged = () => judge(userPermissions.of(subject.user, request), scopeOf(request, subject, key));
    // The same user and key may do more in the SCIM routes than elsewhere.
    if (isProvisioning(subject.credential)) return judged();
    return memo.recall(version, subject.user, key, request, judged);
  };

  return {
    decide,
    authorize: (attributes) => decide(managementRequest(attributes), attributes),
    explainDecision(request, subject) {
      const decision = decide(request, subject);
      const standing = keyStanding(subject, keys);
      const right: Pick<UserRight, "allowed" | "reason"> = isServerItself(subject)
        ? { allowed: true, reason: "the server's own work" }
        : userPermissions.of(subject.user, request);
      const scope = standing.good ? scopeOf(request, subject, standing.key) : undefined;
      const steps: readonly DecisionStep[] = [
        { step: "key", passed: standing.good, reason: standing.good ? "" : standing.cause },
        { step: "right", passed: right.allowed, reason: right.reason },
        ...(scope === undefined ? [] : [{ step: "scope" as const, passed: scope.open, reason: scope.reason }]),
      ];
      return { decision, steps };
    },
    policyVersion,
  };
}

const isProvisioning = (credential: Subject["credential"]): boolean => provisionerOf(credential) !== undefined;

const NOBODY = { kind: "subject", name: "" } as const;

// Whether the credential of a request is still good.

/** Keys, certificates and impersonation never give system:masters: such requests have a credential. */
export const isServerItself = ({ user, credential }: Subject): boolean => credential === undefined && isMaster(user);

/** Of requests that the SCIM routes send for a directory; `provisioning.ts` makes it. */
export type ProvisioningCredential = Credential & {
  /** The owner of the key, such as `user/directory`: it is the same after the directory got another key. */
  readonly provisioner: string;
};

/** The directory that a request comes from; undefined for all requests but those of the SCIM routes. */
export const provisionerOf = (credential: Pick<Credential, "id"> | undefined): string | undefined =>
  credential !== undefined && "provisioner" in credential && typeof credential.provisioner === "string"
    ? credential.provisioner
    : undefined;

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

// Caches decisions by caller, key revision and request until permissions change.

/** The cache is cleared at this size: common decisions are back within a few requests. */
const CAPACITY = 50_000;
/** Characters of the requests that are remembered: clients choose them. */
const MAX_CHARACTERS = 16_000_000;

/** Decisions about one identity with one key. */
type Known = { readonly key: AccessKeyState | undefined; readonly decisions: Map<string, PlatformDecision> };

export class DecisionMemo {
  #version: number | undefined;
  #size = 0;
  #characters = 0;
  readonly #byIdentity = new Map<string, Known>();
  /** Authenticators that keep what they know of a user spare us writing it out again. */
  #byUser = new WeakMap<UserInfo, Known>();

  /** The decision made at `version` of the rights, or `decide()`, which then is remembered. */
  recall(
    version: number,
    user: UserInfo,
    key: AccessKeyState | undefined,
    request: PlatformRequest,
    decide: () => PlatformDecision,
  ): PlatformDecision {
    if (version !== this.#version || this.#size >= CAPACITY || this.#characters >= MAX_CHARACTERS) {
      this.#byIdentity.clear();
      this.#byUser = new WeakMap();
      this.#size = 0;
      this.#characters = 0;
      this.#version = version;
    }
    const { decisions } = this.#of(user, key);
    const shape = shapeOf(request);
    const known = decisions.get(shape);
    if (known !== undefined) return known;
    const decision = decide();
    decisions.set(shape, decision);
    this.#size += 1;
    this.#characters += shape.length;
    return decision;
  }

  #of(user: UserInfo, key: AccessKeyState | undefined): Known {
    const last = this.#byUser.get(user);
    // A record of a key is another object with every change of it.
    if (last !== undefined && last.key === key) return last;
    const identity = JSON.stringify([user.name, user.groups]) + keyPart(key);
    const known = this.#byIdentity.get(identity);
    const found = known?.key === key && known !== undefined ? known : { key, decisions: known?.decisions ?? new Map() };
    this.#byIdentity.set(identity, found);
    this.#byUser.set(user, found);
    return found;
  }
}

/** The uid too: a name or a handle may come again, and a revision is of one record. */
const keyPart = (key: AccessKeyState | undefined): string => `${key?.uid}@${key?.revision}`;

/** Each part is prefixed with its length, so that two requests never have the same text. */
const joined = (...parts: readonly string[]): string => {
  let text = "";
  for (const part of parts) text += `${part.length}:${part}`;
  return text;
};

function shapeOf(request: PlatformRequest): string {
  const { isResourceRequest, verb, apiGroup, resource, subresource, namespace, name, path } = request.inner;
  const asked = isResourceRequest
    ? joined(verb, apiGroup, resource, subresource, namespace, name)
    : // Fewer members than a resource request has.
      joined(verb, path);
  switch (request.target) {
    case "Cluster":
      return asked + joined(request.target, request.cluster);
    case "ProjectSpace":
      return asked + joined(request.target, request.project, request.space);
    case "ProjectVirtualCluster":
      return asked + joined(request.target, request.project, request.virtualCluster);
    case "Management":
      return asked;
  }
}

// Permissions of a user, with any credential: by roles, by ownership, and by the lists that are open to all.

type UserRight =
  | { readonly allowed: true; readonly code: DecisionCode; readonly reason: string }
  /** `reason` is set when something was wrong with the roles. */
  | { readonly allowed: false; readonly reason: string };

type UserPermissions = {
  /** Version of all that the answers follow from. */
  readonly policyVersion: PolicyVersion;
  of(user: UserInfo, request: PlatformRequest): UserRight;
};

export function createUserPermissions(deps: Omit<DecisionDeps, "keys">): UserPermissions {
  const { names, rbac, projects, instances } = deps;
  const roles = createRbacAuthorizer({ source: rbac });
  const ownership = { names, roles: rbac, projects, instances };
  return {
    policyVersion: combinedPolicyVersion([rbac, projects, instances]),
    of(user, request) {
      const asked = request.target === "Management" ? request.inner : useRequest(request, names);
      const byRole = roles.authorize({ ...asked, user, apiVersion: "*" });
      if (byRole.verdict === "allow") return { allowed: true, code: "role", reason: byRole.reason };
      const owned = ownerPermission(user, asked, ownership);
      if (owned !== undefined) return { allowed: true, ...owned };
      if (isFilteredList(managementRequest(asked), names) && isAuthenticated(user)) {
        return { allowed: true, code: "filtered-list", reason: "lists show what the caller may get" };
      }
      return { allowed: false, reason: byRole.reason };
    },
  };
}

/** Request to the management API that goes with a request through a proxy: to `use` the object behind it. */
export function useRequest(
  request: Exclude<PlatformRequest, { readonly target: "Management" }>,
  names: PlatformNames,
): TargetedRequest {
  const use = { isResourceRequest: true, verb: "use", apiGroup: names.managementGroup, subresource: "", path: "" };
  switch (request.target) {
    case "Cluster":
      return { ...use, resource: "clusters", namespace: "", name: request.cluster };
    case "ProjectSpace":
      return {
        ...use,
        resource: "spaceinstances",
        namespace: names.projectNamespace(request.project),
        name: request.space,
      };
    case "ProjectVirtualCluster":
      return {
        ...use,
        resource: "virtualclusterinstances",
        namespace: names.projectNamespace(request.project),
        name: request.virtualCluster,
      };
  }
}
