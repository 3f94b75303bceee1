// Requests that scopes are asked about, in few words, and short ways to ask.

import type { AccessKeyRestrictions, ScopeRole } from "@postern/api/access-key-restrictions";
import { expect } from "vitest";
import type { PlatformRequest } from "../request/platform-request.ts";
import { inScope } from "../restrictions/scope.ts";
import { management, names, userInfo } from "./memory-world.ts";

const alice = userInfo("alice", "devs");
/** A key of alice's own, used by her. */
export const context = { names, user: alice, owner: { kind: "user", name: "alice" } } as const;
/** Requests that a key of alice's opens, or of a subject of that name. */
export const opens = (restrictions: AccessKeyRestrictions | undefined, request: PlatformRequest, owner = "alice") =>
  inScope(restrictions, request, {
    ...context,
    owner: owner === "alice" ? context.owner : { kind: "subject", name: owner },
  }).open;

export const group = (apiGroup: string, resource: string, verb = "create", parts = {}): PlatformRequest =>
  management({ apiGroup, resource, verb, ...parts });
export const instance = (verb: string, namespace: string, name: string, subresource = "") =>
  management({ verb, resource: "virtualclusterinstances", namespace, name, subresource });
export const space = (verb: string, namespace: string, name: string, subresource = "") =>
  management({ verb, resource: "spaceinstances", namespace, name, subresource });
export const project = (verb: string, name: string, subresource = "") =>
  management({ verb, resource: "projects", name, subresource });
export const secret = (namespace: string, verb = "get") => group("", "secrets", verb, { namespace, name: "s" });
export const ownKeys = (verb: string, name = "") => management({ verb, resource: "ownedaccesskeys", name });

/** The entry of a scope for a role that is not narrowed. */
export const role = (name: string): ScopeRole => ({ role: name, projects: [], virtualClusters: [] });

/** A scope in a table of tests: its name, what it opens, and what it does not. */
export type ScopeCase = readonly [
  entry: string,
  restrictions: AccessKeyRestrictions,
  open: PlatformRequest[],
  closed: PlatformRequest[],
];

export function expectVerdicts(
  restrictions: AccessKeyRestrictions,
  open: readonly PlatformRequest[],
  closed: readonly PlatformRequest[],
): void {
  const verdictOf = (request: PlatformRequest) => ({ request, open: opens(restrictions, request) });
  for (const request of open) expect(verdictOf(request)).toEqual({ request, open: true });
  for (const request of closed) expect(verdictOf(request)).toEqual({ request, open: false });
}
