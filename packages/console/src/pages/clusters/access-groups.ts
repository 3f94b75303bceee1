// Users and teams with access to a virtual cluster, in groups of the same access.

import type { Project } from "@postern/api/project";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { t } from "../../texts/text.tsx";
import { roleName } from "../access/role-name.ts";

export type Holder = { readonly isTeam: boolean; readonly name: string };
/** `what`: the access in words. */
export type AccessGroup = { readonly what: string; readonly holders: readonly Holder[] };

type Holders = { readonly users?: readonly string[]; readonly teams?: readonly string[] };

const only = (name: string | undefined): readonly string[] => (name === undefined || name === "" ? [] : [name]);

const holdersOf = ({ users = [], teams = [] }: Holders): readonly Holder[] => [
  ...users.map((name) => ({ isTeam: false, name })),
  ...teams.map((name) => ({ isTeam: true, name })),
];

/** Owners first, then members of the project, and users and teams that the virtual cluster itself gives access to. Each holder once in a group. */
export function accessGroups({ spec }: VirtualClusterInstance, project: Project | undefined): readonly AccessGroup[] {
  const { owner, access = [], extraAccessRules = [] } = spec ?? {};
  const groups = new Map<string, Map<string, Holder>>();
  const add = (what: string, holders: readonly Holder[]): void => {
    const group = groups.get(what) ?? new Map<string, Holder>();
    for (const holder of holders) group.set(`${holder.isTeam} ${holder.name}`, holder);
    if (group.size > 0) groups.set(what, group);
  };
  add(t("cluster.access.owner"), holdersOf({ users: only(owner?.user), teams: only(owner?.team) }));
  const ofProject = project?.spec?.owner;
  // The owner of a project is its administrator.
  add(t("cluster.access.projectOwner"), holdersOf({ users: only(ofProject?.user), teams: only(ofProject?.team) }));
  for (const { kind, name = "", clusterRole = "" } of project?.spec?.members ?? [])
    add(t("cluster.access.member", { role: roleName(clusterRole) }), [{ isTeam: kind === "Team", name }]);
  for (const rule of access) add(t("cluster.access.rule", { verbs: (rule.verbs ?? []).join(", ") }), holdersOf(rule));
  for (const rule of extraAccessRules)
    add(t("cluster.access.inside", { role: rule.clusterRole ?? "" }), holdersOf(rule));
  return [...groups].map(([what, holders]) => ({ what, holders: [...holders.values()] }));
}
