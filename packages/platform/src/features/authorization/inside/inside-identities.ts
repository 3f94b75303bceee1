// Remembers the identity of a caller inside the virtual cluster or space that it asked for last, until permissions change. The same object comes back, so that
// what is made of an identity can be remembered by it.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import {
  type InsideDeps,
  type InsideIdentity,
  type InstancePlace,
  insideIdentity,
  instanceAt,
} from "./inside-groups.ts";

type Known = { readonly version: number; readonly place: InstancePlace; readonly identity: InsideIdentity };

export class InsideIdentities {
  readonly #deps: InsideDeps;
  readonly #policyVersion: Pick<PolicyVersion, "version">;
  /** Authenticators give the same user for all requests with a key. */
  readonly #known = new WeakMap<UserInfo, Known>();

  /** `policyVersion` changes with memberships and rules of access, as those that decide do. */
  constructor(deps: InsideDeps, policyVersion: Pick<PolicyVersion, "version">) {
    this.#deps = deps;
    this.#policyVersion = policyVersion;
  }

  /** Throws as `insideIdentity` does. */
  of(user: UserInfo, place: InstancePlace): InsideIdentity {
    const { version } = this.#policyVersion;
    const last = this.#known.get(user);
    if (last !== undefined && last.version === version && isSame(last.place, place)) return last.identity;
    const identity = insideIdentity(user, place, this.#deps);
    this.#known.set(user, { version, place, identity });
    return identity;
  }
}

function isSame(one: InstancePlace, other: InstancePlace): boolean {
  if (one.project !== other.project) return false;
  const [first, second] = [instanceAt(one), instanceAt(other)];
  return first.resource === second.resource && first.name === second.name;
}
