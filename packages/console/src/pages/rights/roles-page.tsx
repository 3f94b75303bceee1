// ClusterRoles: what each allows, and who is bound to it.

import { Link, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type ClusterRole,
  type ClusterRoleBinding,
  nameOf,
  type PolicyRule,
  PROJECTS,
  type Project,
} from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import type { Column } from "../../components/data-table.tsx";
import { Checkbox, SearchField } from "../../components/fields.tsx";
import { LiveTable } from "../../components/live-table.tsx";
import { ListLink, ObjectPage } from "../../components/object-page.tsx";
import { EmptyState, PageHead, Section } from "../../components/ui.tsx";
import { WhyNot } from "../../components/why-not.tsx";
import { counted, t } from "../../texts/text.tsx";
import { roleName } from "./role-name.ts";

const isOfSystem = (role: ClusterRole): boolean => nameOf(role).startsWith("system:");

const COLUMNS: readonly Column<ClusterRole>[] = [
  {
    id: "name",
    header: t("roles.column.name"),
    sortBy: nameOf,
    cell: (role) => (
      <span className="two-lines">
        <Link to="/roles/$name" params={{ name: nameOf(role) }} className="row-link">
          {roleName(nameOf(role))}
        </Link>
        {roleName(nameOf(role)) !== nameOf(role) && <span className="muted mono">{nameOf(role)}</span>}
      </span>
    ),
  },
  {
    id: "rules",
    header: t("roles.column.rules"),
    width: "110px",
    sortBy: ({ rules }) => rules?.length ?? 0,
    cell: ({ rules }) => rules?.length ?? 0,
  },
];

export function RolesPage() {
  const list = useLive<ClusterRole>(CLUSTER_ROLES);
  const { items } = list;
  const [text, setText] = useState("");
  const [hasSystem, setSystem] = useState(false);
  const shown = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return items.filter(
      (role) =>
        (hasSystem || !isOfSystem(role)) && `${nameOf(role)} ${roleName(nameOf(role))}`.toLowerCase().includes(wanted),
    );
  }, [items, text, hasSystem]);
  return (
    <>
      <PageHead title={t("roles.title")} lead={t("roles.lead")} />
      <LiveTable
        list={list}
        label={t("roles.title")}
        columns={COLUMNS}
        rows={shown}
        rowKey={nameOf}
        sort={{ column: "name", isDescending: false }}
        empty={<EmptyState title={t("roles.empty.title")}>{t("roles.empty.text")}</EmptyState>}
        filters={
          <>
            <SearchField label={t("roles.search")} value={text} onChange={setText} />
            <Checkbox isSelected={hasSystem} onChange={setSystem}>
              {t("roles.system")}
            </Checkbox>
            <span className="count" aria-live="polite">
              {counted("roles.count", shown.length)}
            </span>
          </>
        }
      />
    </>
  );
}

export function RolePage() {
  const { name = "" } = useParams({ strict: false });
  return (
    <ObjectPage<ClusterRole> kind="role" address={CLUSTER_ROLES} name={name}>
      {(role) => <RoleView role={role} />}
    </ObjectPage>
  );
}

function RoleView({ role }: { readonly role: ClusterRole }) {
  const name = nameOf(role);
  return (
    <>
      <PageHead above={<ListLink kind="role" />} title={roleName(name)} lead={<code>{name}</code>} />
      <Section title={t("role.rules.title")}>
        <Rules rules={role.rules ?? []} />
      </Section>
      <Holders name={name} />
    </>
  );
}

function Rules({ rules }: { readonly rules: readonly PolicyRule[] }) {
  if (rules.length === 0) return <p className="muted">{t("role.rules.none")}</p>;
  return (
    <ul className="lines card">
      {rules.map(({ verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two rules may be the same
        <li key={at}>
          <span className="two-lines">
            <span className="mono">{[...resources, ...nonResourceURLs].join(", ")}</span>
            <span className="muted">
              {apiGroups.length > 0 &&
                t("role.rule.groups", { groups: apiGroups.map((group) => group || "core").join(", ") })}
              {resourceNames.length > 0 && ` ${t("role.rule.names", { names: resourceNames.join(", ") })}`}
            </span>
          </span>
          <span className="mono">{verbs.join(", ")}</span>
        </li>
      ))}
    </ul>
  );
}

/** Who has the role on the whole platform, and in which projects. */
function Holders({ name }: { readonly name: string }) {
  const right = useMay({ verb: "list", group: "rbac.authorization.k8s.io", resource: "clusterrolebindings" });
  const bindings = useLive<ClusterRoleBinding>(CLUSTER_ROLE_BINDINGS, { isWanted: right.isAllowed });
  const projects = useLive<Project>(PROJECTS);
  const everywhere = bindings.items
    .filter(({ roleRef }) => roleRef?.name === name)
    .flatMap(({ subjects = [] }) => subjects.map((subject) => `${subject.kind} ${subject.name}`));
  const inProjects = projects.items.flatMap((project) =>
    (project.spec?.members ?? [])
      .filter(({ clusterRole }) => clusterRole === name)
      .map((member) => ({ project: nameOf(project), who: `${member.kind} ${member.name}` })),
  );
  return (
    <Section title={t("role.holders.title")} lead={t("role.holders.lead")}>
      <WhyNot right={right} />
      {everywhere.length + inProjects.length === 0 && <p className="muted">{t("role.holders.none")}</p>}
      {everywhere.length + inProjects.length > 0 && (
        <ul className="lines card">
          {[...new Set(everywhere)].map((who) => (
            <li key={who}>
              <span>{who}</span>
              <span className="muted">{t("memberships.platform")}</span>
            </li>
          ))}
          {inProjects.map(({ project, who }) => (
            <li key={`${project} ${who}`}>
              <span>{who}</span>
              <Link to="/projects/$name" params={{ name: project }}>
                {t("scope.project", { name: project })}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
