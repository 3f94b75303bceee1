// The groups and versions that a set of resources makes up.
// Source: k8s.io/apiserver/pkg/endpoints/discovery, k8s.io/apimachinery/pkg/version/helpers.go

import type { GroupVersion } from "@postern/apimachinery/meta/group-version";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";

export type ApiVersion = GroupVersion & {
  /** By plural name. */
  readonly resources: readonly ResourceDefinition[];
};

export type ApiGroup = {
  /** "" for the core group. */
  readonly name: string;
  /** The preferred one first; never empty. */
  readonly versions: readonly [ApiVersion, ...ApiVersion[]];
};

/** Groups in the order in which their first resource was registered, which is how clients rank equal short names. */
export function apiGroups(resources: readonly ResourceDefinition[]): readonly ApiGroup[] {
  const groups = new Map<string, Map<string, ResourceDefinition[]>>();
  for (const resource of resources) {
    const versions = groups.get(resource.group) ?? new Map<string, ResourceDefinition[]>();
    groups.set(resource.group, versions);
    versions.set(resource.version, [...(versions.get(resource.version) ?? []), resource]);
  }
  return [...groups].flatMap(([name, byVersion]) => {
    const [preferred, ...others] = [...byVersion]
      .sort(([a], [b]) => compareVersionPriority(a, b))
      .map(([version, served]) => ({ group: name, version, resources: served.toSorted(byPlural) }));
    return preferred === undefined ? [] : [{ name, versions: [preferred, ...others] as const }];
  });
}

const byPlural = (a: ResourceDefinition, b: ResourceDefinition): number => (a.plural < b.plural ? -1 : 1);

const KUBE_VERSION = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;
const STABILITY = ["alpha", "beta", ""];

/** Negative when `a` is preferred: stable before beta before alpha, then the higher number, other names last. */
export function compareVersionPriority(a: string, b: string): number {
  const x = KUBE_VERSION.exec(a);
  const y = KUBE_VERSION.exec(b);
  if (x === null || y === null) {
    if (x !== null || y !== null) return x === null ? 1 : -1;
    return a < b ? -1 : Number(a > b);
  }
  return (
    STABILITY.indexOf(y[2] ?? "") - STABILITY.indexOf(x[2] ?? "") ||
    Number(y[1]) - Number(x[1]) ||
    Number(y[3] ?? 0) - Number(x[3] ?? 0)
  );
}
