// Access keys that reach a virtual cluster and more: the ledger of its credentials has only those that reach nothing else.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { isLogin, keyState, type Moment, ownerOf } from "../keys/key-state.ts";
import type { MayUse } from "./may-use.ts";

export type Reach = "cluster" | "project" | "owner";
type Place = { readonly project: string; readonly name: string };

/**
 * Why a key that is valid at `now` reaches the virtual cluster; undefined if it does not, or reaches nothing else. No key reaches what its owner may not use.
 * Keys with rules are left out: only the server can evaluate those. So are scopes that select by labels.
 */
export function reachOf(key: OwnedAccessKey, { project, name }: Place, mayUse: MayUse, now: Moment): Reach | undefined {
  const { tone } = keyState(key, now);
  if (isLogin(key) || (tone !== "good" && tone !== "warn")) return undefined;
  const { scope, rules = [] } = key.spec ?? {};
  if (scope === undefined) return rules.length === 0 && mayUse(ownerOf(key)) ? "owner" : undefined;
  if (!mayUse(ownerOf(key))) return undefined;
  const { projects = [], virtualClusters = [] } = scope;
  if (projects.some((entry) => entry.project === "*" || entry.project === project)) return "project";
  const named = virtualClusters.filter((entry) => entry.selector === undefined && entry.project === project);
  if (named.some(({ virtualCluster }) => virtualCluster === "*")) return "project";
  const isNamed = named.some(({ virtualCluster }) => virtualCluster === name);
  const isAlone = [scope.spaces, scope.clusters, scope.roles].every((list = []) => list.length === 0);
  return isNamed && (virtualClusters.length > named.length || named.length > 1 || !isAlone) ? "cluster" : undefined;
}
