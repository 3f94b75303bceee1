// All trust rules in memory, by issuer and by name, and what the keys that they issued may still do.

import { restrictionNames } from "@postern/api/access-key-restrictions";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";
import type { Foundation } from "../../foundation/foundation.ts";
import type { IssuerSource } from "../../foundation/issuers/issuer-source.ts";
import { sameOwner } from "../access-keys/access-key-owner.ts";
import type { GrantedKey, KeyGrant, KeyGrants } from "../access-keys/key-grant.ts";
import { isPermissionSubset } from "../access-keys/validity/permission-subset.ts";
import { type KeyRefusal, withdrawn } from "../access-keys/validity/ready-reasons.ts";
import { CLUSTER_TRUST_RULES, readTrustRule, TRUST_RULES, type TrustRuleState } from "./trust-rule-state.ts";

export type TrustRules = KeyGrants &
  Disposable & {
    /** By id. */
    get(id: string): TrustRuleState | undefined;
    /** Those that name the issuer, disabled ones among them. */
    ofIssuer(issuer: string): readonly TrustRuleState[];
    /** Those whose keys come from the source. */
    ofSource(id: string): readonly TrustRuleState[];
    /** Each once. */
    sources(): Iterable<IssuerSource>;
    /** The ids of the sources that the rules of a project name. */
    sourcesOf(project: string): ReadonlyMap<string, unknown>;
  };

/**
 * Before access keys: a rule says whether the keys that it issued are accepted. A change is in it before the write that made it is answered. Rules
 * that cannot be read issue nothing.
 */
export function openTrustRules({ names, objects, runtime, onError }: Foundation): TrustRules {
  const aliases = restrictionNames(names.name);
  const byKey = new Map<string, TrustRuleState>();
  const byId = new Map<string, TrustRuleState>();
  const byIssuer: Groups = new Map();
  const bySource: Groups = new Map();
  const byProject = new Map<string, Groups>();
  const listeners = new ChangeListeners();
  const lost = new Set<string>();

  const remove = (key: string): void => {
    const known = byKey.get(key);
    if (known === undefined) return;
    byKey.delete(key);
    byId.delete(known.id);
    leave(byIssuer, known.source.issuer, known);
    leave(bySource, known.source.id, known);
    const sources = byProject.get(known.project ?? "");
    if (sources === undefined) return;
    leave(sources, known.source.id, known);
    if (sources.size === 0) byProject.delete(known.project ?? "");
  };
  const put = (object: CachedObject): void => {
    remove(object.key);
    try {
      const namespace = object.decode().metadata.namespace ?? "";
      const project = namespace === "" ? undefined : names.projectOf(namespace);
      // A namespace without a project has no administrators whose rule it could be.
      if (namespace !== "" && project === undefined) return;
      const rule = readTrustRule(object, project, aliases);
      byKey.set(object.key, rule);
      byId.set(rule.id, rule);
      join(byIssuer, rule.source.issuer, rule);
      join(bySource, rule.source.id, rule);
      const sources: Groups = byProject.get(project ?? "") ?? new Map();
      byProject.set(project ?? "", join(sources, rule.source.id, rule));
    } catch (error) {
      onError(error, "trust-rules");
    }
  };
  const changed = (): void => {
    listeners.call();
  };
  const follow = ({ view, prefix }: ViewPrefix): Disposable =>
    followView({ view, prefix }, runtime.scheduler, {
      replace(objects) {
        lost.delete(prefix);
        for (const key of [...byKey.keys()]) if (key.startsWith(prefix)) remove(key);
        for (const object of objects) put(object);
      },
      put,
      delete: ({ key }) => remove(key),
      settled: changed,
      lost: () => void lost.add(prefix),
    });
  const followers = [follow(objects(CLUSTER_TRUST_RULES)), follow(objects(TRUST_RULES, { namespaced: true }))];

  return {
    get: (id) => (lost.size === 0 ? byId.get(id) : undefined),
    ofIssuer: (issuer) => (lost.size === 0 ? [...(byIssuer.get(issuer) ?? [])] : []),
    ofSource: (id) => [...(bySource.get(id) ?? [])],
    *sources() {
      for (const [first] of bySource.values()) if (first !== undefined) yield first.source;
    },
    sourcesOf: (project) => byProject.get(project) ?? NO_SOURCES,
    keyRefusalOf(grant, key) {
      // Nothing is known to be over, so that nothing is deleted for it.
      if (lost.size > 0) return { reason: "Unknown", message: "the trust rules are being loaded" };
      return refusalBy(byId.get(grant.rule), grant, key);
    },
    onChange: (listener) => listeners.add(listener),
    [Symbol.dispose]() {
      for (const follower of followers) follower[Symbol.dispose]();
      listeners.clear();
    },
  };
}

type Groups = Map<string, Set<TrustRuleState>>;

const NO_SOURCES: ReadonlyMap<string, unknown> = new Map();

const join = (groups: Groups, id: string, rule: TrustRuleState): Groups =>
  groups.set(id, (groups.get(id) ?? new Set()).add(rule));

function leave(groups: Groups, id: string, rule: TrustRuleState): void {
  const others = groups.get(id);
  others?.delete(rule);
  if (others?.size === 0) groups.delete(id);
}

function refusalBy(rule: TrustRuleState | undefined, grant: KeyGrant, key: GrantedKey): KeyRefusal | undefined {
  if (rule === undefined || rule.uid !== grant.ruleUid) return withdrawn("its trust rule is deleted");
  if (rule.isOff) return withdrawn("its trust rule is disabled");
  if (rule.terms !== grant.terms) return withdrawn("its trust rule was replaced");
  // Changes by its owner since then.
  if (
    !sameOwner(key.owner, rule.owner) ||
    key.groups.length > 0 ||
    !isPermissionSubset(key.restrictions, rule.restrictions)
  )
    return withdrawn("it has more permissions than its trust rule allows");
  return undefined;
}
