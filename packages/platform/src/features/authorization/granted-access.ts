// The port for access that was granted for a time: memberships and roles that end by themselves.

import type { PolicyVersion } from "@postern/apiserver/authorization/policy-version";

/** Access that a credential has while it is in the group. */
export type GrantedRole = {
  /** See `PlatformNames.accessRequestGroup`. */
  readonly group: string;
  /** "" for the use of a connected cluster. */
  readonly clusterRole: string;
  /** Name of the access request, for people and the audit log. */
  readonly accessRequest: string;
};

/** The project, or the virtual cluster of a project, whose grants have changed. */
export type GrantedPlace = { readonly project: string; readonly virtualCluster?: string };

/** An approved request behind a credential. */
export type HeldGrant = {
  readonly name: string;
  readonly uid: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
};

/** Objects are meant by their uid: another of the same name inherits nothing. */
export type GrantedAccess = {
  /** Ends what is over by the clock, so that a decision does not depend on timers. */
  settle(): void;
  inProject(project: string, uid: string): readonly GrantedRole[];
  inVirtualCluster(project: string, virtualCluster: string, uid: string): readonly GrantedRole[];
  /** Version of the grants for connected clusters. */
  readonly clusters: PolicyVersion & { of(cluster: string): readonly GrantedRole[] };
  /** The live grants of a caller with these groups that reach a virtual cluster; the last to end is first. */
  reaching(groups: readonly string[], project: string, virtualCluster: string): readonly HeldGrant[];
  /** The same for a connected cluster. */
  reachingCluster(groups: readonly string[], cluster: string): readonly HeldGrant[];
  /** Whether the request with this uid grants its access now. */
  isLive(uid: string): boolean;
  /** Calls back synchronously when grants in a place begin or end. */
  onPlaceChange(listener: (place: GrantedPlace) => void): Disposable;
};

const NONE: readonly GrantedRole[] = [];
const NOTHING: Disposable = { [Symbol.dispose]: () => {} };

export const NO_GRANTED_ACCESS: GrantedAccess = {
  settle: () => {},
  inProject: () => NONE,
  inVirtualCluster: () => NONE,
  clusters: { version: 0, onChange: () => NOTHING, of: () => NONE },
  reaching: () => [],
  reachingCluster: () => [],
  isLive: () => false,
  onPlaceChange: () => NOTHING,
};
