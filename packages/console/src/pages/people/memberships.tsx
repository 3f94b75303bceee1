// The teams, projects and virtual clusters of a user or a team, and the roles there and on the whole platform.

import type { Owner } from "@postern/api/owner";
import type { Project } from "@postern/api/project";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import {
  CLUSTER_ROLE_BINDINGS,
  type ClusterRoleBinding,
  nameOf,
  PROJECTS,
  VIRTUAL_CLUSTERS,
} from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Section } from "../../components/page-head.tsx";
import { LongList } from "../../components/tables/long-list.tsx";
import { settings } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { roleName } from "../access/role-name.ts";
import { nameWithTitle } from "../projects/project-title.ts";
import { clusterRightsOf } from "./cluster-rights.ts";
import { JoinProject } from "./join-project.tsx";

type Props = {
  readonly kind: "User" | "Team";
  readonly name: string;
  readonly teams: readonly string[];
};

export function Memberships({ kind, name, teams }: Props) {
  const projects = useLive<Project>(PROJECTS);
  const clusters = useLive<VirtualClusterInstance>(VIRTUAL_CLUSTERS);
  const right = useMay({ verb: "list", group: "rbac.authorization.k8s.io", resource: "clusterrolebindings" });
  const bindings = useLive<ClusterRoleBinding>(CLUSTER_ROLE_BINDINGS, { isWanted: right.isAllowed });
  const counts = (member: { readonly kind?: string; readonly name?: string }): boolean =>
    (member.kind === kind && member.name === name) || (member.kind === "Team" && teams.includes(member.name ?? ""));
  const inTeams = teams.map((team) => ({
    to: `/teams/${team}`,
    title: t("new.owner.team", { name: team }),
    role: t("memberships.member"),
  }));
  const inProjects = projects.items.flatMap((project) => {
    const to = `/projects/${nameOf(project)}`;
    const title = t("place.project", { name: nameWithTitle(project) });
    return [
      ...(owns(project.spec?.owner, { kind, name, teams }) ? [{ to, title, role: t("memberships.owner") }] : []),
      ...(project.spec?.members ?? []).filter(counts).map(({ clusterRole = "", kind: by, name: member }) => ({
        ...{ to, title },
        role:
          by === kind && member === name
            ? roleName(clusterRole)
            : t("memberships.through", { role: roleName(clusterRole), team: member ?? "" }),
      })),
    ];
  });
  const everywhere = bindings.items
    .filter(({ subjects = [] }) =>
      subjects.some(
        (subject) =>
          (kind === "User" && subject.kind === "User" && subject.name === name) ||
          (subject.kind === "Group" && groupsOf({ kind, name, teams }).includes(subject.name ?? "")),
      ),
    )
    .map(({ roleRef: { name: role = "" } = {} }) => ({
      to: `/roles/${role}`,
      title: t("trust.everywhere"),
      role: roleName(role),
    }));
  const inClusters = useMemo(
    () =>
      clusterRightsOf(clusters.items, { kind, name, teams }).map(({ to, name: place, role }) => ({
        ...{ to, role },
        title: t("place.virtualCluster", { name: place }),
      })),
    [clusters.items, kind, name, teams],
  );
  const all = [...everywhere, ...inTeams, ...inClusters, ...inProjects];
  return (
    <Section
      title={t("memberships.title")}
      lead={t(kind === "User" ? "memberships.lead" : "memberships.lead.team")}
      actions={<JoinProject kind={kind} name={name} />}
    >
      <LongList items={all} none={t("list.noneVisible")} textOf={({ title, role }) => `${title} ${role}`}>
        {({ to, title, role }) => (
          <li key={`${to} ${role}`}>
            <span className="two-lines">
              <Link to={to}>{title}</Link>
              <span className="muted">{role}</span>
            </span>
          </li>
        )}
      </LongList>
    </Section>
  );
}

const owns = (owner: Owner | undefined, { kind, name, teams }: Props): boolean =>
  (kind === "User" && owner?.user === name) ||
  [...teams, ...(kind === "Team" ? [name] : [])].includes(owner?.team ?? "\0");

/** The groups that members of a team get in requests. */
const groupsOf = ({ kind, name, teams }: Props): readonly string[] =>
  [...teams, ...(kind === "Team" ? [name] : [])].map((team) => `${settings.name}:team:${team}`);
