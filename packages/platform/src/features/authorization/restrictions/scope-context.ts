// The facts beside the request that a scope is checked against.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Labels } from "@postern/apimachinery/selectors/label-requirement";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { AccessKeyOwner } from "../../access-keys/access-key-owner.ts";
import type { RestrictionIndex } from "./restriction-index.ts";

/** Labels of the virtual clusters as of now. */
export type ClusterLabels = {
  /** Undefined without such a virtual cluster. */
  of(namespace: string, name: string): Labels | undefined;
};

/** Facts that a scope is read against, beside the request. */
export type ScopeContext = {
  readonly names: PlatformNames;
  /** User of the request. */
  readonly user: UserInfo;
  /** User, team or subject that the key authenticates as. */
  readonly owner: AccessKeyOwner;
  /** Whether the SCIM routes ask, for a directory. */
  readonly isProvisioning?: boolean;
  /** Absent: entries with a selector open nothing. */
  readonly clusterLabels?: ClusterLabels;
  /** Index of long lists, kept by callers that check more than one request. */
  readonly index?: RestrictionIndex;
};

export type IndexedContext = ScopeContext & { readonly index: RestrictionIndex };
