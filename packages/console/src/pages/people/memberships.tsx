// The teams and projects of a user or a team, and the roles there and on the whole platform.

import type { Project } from "@postern/api/project";
import { Link } from "@tanstack/react-router";
import { CLUSTER_ROLE_BINDINGS, type ClusterRoleBinding, nameOf, PROJECTS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Section } from "../../components/page-head.tsx";
import { settings } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { roleName } from "../access/role-name.ts";

type Props = {
  readonly kind: "User" | "Team";
  readonly name: string;
  readonly teams: readonly string[];
};

export function Memberships({ kind, name, teams }: Props) {
  const projects = useLive<Project>(PROJECTS);
  const right = useMay({ verb: "list", group: "rbac.authorization.k8s.io", resource: "clusterrolebindings" });
  const bindings = useLive<ClusterRoleBinding>(CLUSTER_ROLE_BINDINGS, { isWanted: right.isAllowed });
  const counts = (member: { readonly kind?: string; readonly name?: string }): boolean =>
    (member.kind === kind && member.name === name) || (member.kind === "Team" && teams.includes(member.name ?? ""));
  const inProjects = projects.items.flatMap((project) => [
    ...(owns(project, { kind, name, teams }) ? [{ project: nameOf(project), role: t("cluster.access.owner") }] : []),
    ...(project.spec?.members ?? []).filter(counts).map(({ clusterRole = "", kind: by, name: member }) => ({
      project: nameOf(project),
      role: by === kind && member === name ? roleName(clusterRole) : `${roleName(clusterRole)} (${member})`,
    })),
  ]);
  const roles = bindings.items
    .filter(({ subjects = [] }) =>
      subjects.some(
        (subject) =>
          (kind === "User" && subject.kind === "User" && subject.name === name) ||
          (subject.kind === "Group" && groupsOf({ kind, name, teams }).includes(subject.name ?? "")),
      ),
    )
    .map(({ roleRef }) => roleRef?.name ?? "");
  return (
    <Section title={t("memberships.title")} lead={t("memberships.lead")}>
      {inProjects.length + roles.length + teams.length === 0 && <p className="muted">{t("memberships.none")}</p>}
      {inProjects.length + roles.length + teams.length > 0 && (
        <ul className="lines card">
          {teams.map((team) => (
            <li key={`team ${team}`}>
              <Link to="/teams/$name" params={{ name: team }}>
                {t("new.owner.team", { name: team })}
              </Link>
              <span className="muted">{t("memberships.member")}</span>
            </li>
          ))}
          {inProjects.map(({ project, role }) => (
            <li key={`project ${project} ${role}`}>
              <Link to="/projects/$name" params={{ name: project }}>
                {t("place.project", { name: project })}
              </Link>
              <span className="muted">{role}</span>
            </li>
          ))}
          {roles.map((role) => (
            <li key={`role ${role}`}>
              <Link to="/roles/$name" params={{ name: role }}>
                {t("memberships.platform")}
              </Link>
              <span className="muted">{roleName(role)}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

const owns = ({ spec }: Project, { kind, name, teams }: Props): boolean =>
  (kind === "User" && spec?.owner?.user === name) ||
  [...teams, ...(kind === "Team" ? [name] : [])].includes(spec?.owner?.team ?? "\0");

/** The groups that members of a team get in requests. */
const groupsOf = ({ kind, name, teams }: Props): readonly string[] =>
  [...teams, ...(kind === "Team" ? [name] : [])].map((team) => `${settings.name}:team:${team}`);
